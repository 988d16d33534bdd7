module github.com/loopscope/loopscope/cmd/sandbox

go 1.26.0
