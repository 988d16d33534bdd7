package otlp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// answering is a receiver of either protocol that takes everything with a partial success.
func answering(t *testing.T, protocol string, rejected byte, message string) {
	t.Helper()
	partial := append([]byte{1 << 3, rejected, 2<<3 | 2, byte(len(message))}, message...) // ExportTracePartialSuccess
	answer := append([]byte{1<<3 | 2, byte(len(partial))}, partial...)                    // ExportTraceServiceResponse
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if protocol != protocolGRPC {
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write(answer)
			return
		}
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(answer))), answer...))
		w.Header().Set("Grpc-Status", "0")
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	only(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_BSP_SCHEDULE_DELAY": "3600000"})
}

// TestPartialSuccess: only what the receiver rejected has failed, and of a warning nothing.
func TestPartialSuccess(t *testing.T) {
	for _, protocol := range []string{protocolGRPC, "http/protobuf"} {
		for _, c := range []struct {
			rejected byte
			message  string
			failed   int
			said     string
		}{
			{0, "use another endpoint", 0, "took spans with a warning"},
			{2, "too long\n(3 spans rejected)", 2, "rejected spans\" count=2"},
			{2, "", 2, "rejected spans\" count=2"},
			{99, "all of them", 5, "rejected spans\" count=5"},
		} {
			t.Run(fmt.Sprintf("%s rejects %d, %s", protocol, c.rejected, c.message), func(t *testing.T) {
				answering(t, protocol, c.rejected, c.message)
				r := newRig(t, 64)
				r.record(5)
				if _, err := r.stop(time.Minute); err != nil {
					t.Fatal(err)
				}
				exported, failed, _ := r.counts.now()
				if exported != 5-c.failed || failed != c.failed || !strings.Contains(r.log.String(), c.said) {
					t.Errorf("exported %d, failed %d; said %q", exported, failed, r.log)
				}
			})
		}
	}
}

// TestNoPartialSuccess: what else went wrong is told, whatever a receiver calls it.
func TestNoPartialSuccess(t *testing.T) {
	partly := errors.New("OTLP partial success: x (2 spans rejected)")
	for _, c := range []struct {
		err  error
		want int
		ok   bool
	}{
		{partly, 2, true},
		{fmt.Errorf("traces export: %w", errors.Join(partly, partly)), 4, true},
		{errors.Join(partly, io.EOF), 0, false},
		{errors.New("rpc error: OTLP partial success: x (2 spans rejected)"), 0, false},
		{errors.New("OTLP partial success: x (99999999999999999999 spans rejected)"), 0, false},
		{io.EOF, 0, false},
	} {
		if n, ok := partialSuccess(c.err); ok != c.ok || ok && n != c.want {
			t.Errorf("%v: %d, %t", c.err, n, ok)
		}
	}
}
