package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/page"
)

// otherProcess is the crowd, in a process of its own.
type otherProcess struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

const crowdOf = "LOOPSCOPE_TEST_CROWD_OF"

func startCrowd(t *testing.T, base string, pages []string) *otherProcess {
	t.Helper()
	list, err := json.Marshal(pages)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrowd$", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), crowdOf+"="+base, "GOGC=400")
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(append(list, '\n')); err != nil {
		t.Fatal(err)
	}
	return &otherProcess{cmd, in, bufio.NewReader(out)}
}

// stop ends the crowd and returns what it got, in order for each reader.
func (p *otherProcess) stop(t *testing.T) []gotFrame {
	t.Helper()
	_ = p.in.Close()
	var frames []gotFrame
	for {
		line, err := p.out.ReadString('\n')
		var x gotFrame
		var nano int64
		if n, _ := fmt.Sscanf(line, "frame %d %d %d %d", &x.reader, &x.seq, &nano, &x.size); n == 4 {
			x.at = time.Unix(0, nano)
			frames = append(frames, x)
		}
		if err != nil {
			break
		}
	}
	if err := p.cmd.Wait(); err != nil {
		t.Fatalf("the crowd: %v", err)
	}
	return frames
}

// TestCrowd is the other process of TestManyReaders, and nothing by itself.
func TestCrowd(t *testing.T) {
	base := os.Getenv(crowdOf)
	if base == "" {
		return
	}
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	if err := json.Unmarshal(line, &pages); err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	got := make([][]gotFrame, len(pages))
	conns := make([]*websocket.Conn, len(pages))
	var reading sync.WaitGroup
	for i, path := range pages {
		if strings.HasPrefix(path, "/deployments") && strings.Count(path, "/") == 1 && rows[path] == nil {
			rows[path] = rowsOf(t, base, path)
		}
		conns[i] = dial(t, base, "", page.PageProtocol)
		_ = conns[i].SetReadDeadline(time.Time{})
		if err := conns[i].WriteJSON(live.Subscribe{Page: path, Epoch: "7c41", Rows: rows[path], Sight: len(rows[path])}); err != nil {
			t.Fatal(err)
		}
		reading.Add(1)
		go func() { defer reading.Done(); got[i] = readFrames(conns[i], i) }()
	}
	_, _ = io.Copy(io.Discard, in) // until the test has seen enough
	for _, c := range conns {
		_ = c.Close()
	}
	reading.Wait()
	out := bufio.NewWriter(os.Stdout)
	for _, list := range got {
		for _, x := range list {
			fmt.Fprintf(out, "frame %d %d %d %d\n", x.reader, x.seq, x.at.UnixNano(), x.size)
		}
	}
	_ = out.Flush()
}

var rowOnPage = regexp.MustCompile(`<tr[^>]* id="(r-[a-z0-9]+)"`)

func rowsOf(t *testing.T, base, path string) []string {
	t.Helper()
	_, body := get(t, base, path)
	ids := []string{}
	for _, m := range rowOnPage.FindAllStringSubmatch(body, page.MaxRows) {
		ids = append(ids, m[1])
	}
	return ids
}

// readFrames notes every message with something to place in it, beside the
// counter of the frame.
func readFrames(conn *websocket.Conn, reader int) (got []gotFrame) {
	for {
		_, raw, err := conn.ReadMessage()
		if err != nil {
			return got
		}
		at := time.Now()
		if !bytes.Contains(raw, []byte(`"id":"f-step"`)) && !bytes.Contains(raw, []byte(`"id":"r-`)) && !bytes.Contains(raw, []byte(`"id":"f-queues"`)) {
			continue
		}
		var seq uint64
		if _, err := fmt.Sscanf(string(raw[:min(len(raw), 40)]), `{"seq":%d,`, &seq); err == nil {
			got = append(got, gotFrame{reader, seq, at, len(raw)})
		}
	}
}
