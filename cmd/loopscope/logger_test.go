package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

// TestNoCredentialIsLogged: an error is logged without what its server quoted, by whomever.
func TestNoCredentialIsLogged(t *testing.T) {
	var out bytes.Buffer
	logger := newLogger(&out)
	err := fmt.Errorf("post https://user:hunter1@collector.example: %w", errors.New("got Authorization: Bearer hunter2 and password=hunter3"))
	logger.Error("Spans are lost", "error", err, "count", 3)
	logger.With("why", "token=hunter4").WithGroup("a").Info("api_key=hunter5", "list", []string{"secret=hunter6"})
	state := klog.CaptureState()
	defer state.Restore()
	klog.SetSlogLogger(logger)
	klog.ErrorS(err, "Failed to watch", "reflector", "a")
	klog.Infof("list failed: %v", err)
	text := out.String()
	if strings.Contains(text, "hunter") {
		t.Errorf("a credential is logged:\n%s", text)
	}
	for _, want := range []string{"level=ERROR", "count=3", "collector.example", "Failed to watch", "list failed", "a.list="} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not logged:\n%s", want, text)
		}
	}
}
