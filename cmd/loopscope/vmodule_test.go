package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// TestVmodule: a file that matches a pattern logs as much as that says, of ours and of what logs
// through klog, and no other file does.
func TestVmodule(t *testing.T) {
	defer (&logOptions{format: "text"}).logger(os.Stderr)
	for vmodule, want := range map[string]string{"": "", "vmod*_test=5": "own klog", "other=9,vmodule_test=5": "own klog", "vmodule_test=3,vmodule_test=9": "", "other=9": ""} {
		var o logOptions
		flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
		o.addFlags(flags)
		if err := flags.Parse([]string{"--vmodule=" + vmodule}); err != nil || o.check() != nil {
			t.Fatal(err, o.check())
		}
		var b bytes.Buffer
		log := o.logger(&b).With("a", 1).WithGroup("g")
		log.Log(t.Context(), -5, "own")
		log.Log(t.Context(), -6, "too much")
		klog.V(5).InfoS("klog")
		klog.V(6).InfoS("too much")
		log.Info("always")
		got := b.String()
		for _, word := range []string{"own", "klog"} {
			if strings.Contains(got, "msg="+word) != strings.Contains(want, word) {
				t.Errorf("%q: want %q in\n%s", vmodule, want, got)
			}
		}
		if strings.Contains(got, "too much") || !strings.Contains(got, "msg=always") {
			t.Errorf("%q:\n%s", vmodule, got)
		}
	}
	if out, err := runManager("--vmodule=[=1", "--write-config-to=-"); err == nil || !strings.Contains(err.Error(), "--vmodule: [ is no pattern") {
		t.Errorf("%v: %s", err, out)
	}
}
