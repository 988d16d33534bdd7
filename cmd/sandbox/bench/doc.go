// Package bench compares Loopscope's loops with upstream's: on one sandbox, one
// after the other, each as a process of its own under the same limits, through
// the same rollouts. It counts what each of them asks of the API server, in the
// server's own audit log, and what it costs.
//
// It may not judge time in a test: only "make bench-rollout" prints ratios of
// wall and CPU, and nothing fails because of them. It reaches into neither side;
// what it knows of them are their flags, their users and /proc.
//
// Without environment it is a small sample that sees to it that the comparison
// itself works. The environment makes it a measurement:
//
//	LOOPSCOPE_BENCH_DEPLOYMENTS  Deployments in each run; 10 replicas each
//	LOOPSCOPE_BENCH_PAIRS        runs of each side, in turn, each of them first every other time (default 1)
//	LOOPSCOPE_BENCH_SIDE         "ours", "upstream" or "bare": this side alone
//	LOOPSCOPE_BENCH_OVERHEAD     ours against bare: what record, history and a reader cost
//	LOOPSCOPE_BENCH_CROWD        ours with LOOPSCOPE_BENCH_READERS readers (100) against ours without one
//	LOOPSCOPE_BENCH_FLOODS       rollouts beside each flood of readers, and alone ("make bench-floods")
//	LOOPSCOPE_BENCH_SHADOW       "yes": upstream alone, beside a process that watches and is compared with it
//	LOOPSCOPE_BENCH_WORKERS      number of concurrent syncs of each loop (default 5)
//	LOOPSCOPE_BENCH_QPS          requests a second of each loop (default 100)
//	LOOPSCOPE_BENCH_BURST        requests at once of each loop (default 200)
//	LOOPSCOPE_BENCH_PROFILES     a directory for profiles of our own processes: CPU of each phase, memory after each
//	LOOPSCOPE, LOOPSCOPE_SANDBOX binaries that are built already
package bench
