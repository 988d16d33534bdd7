package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strconv"

	"github.com/spf13/pflag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"

	"github.com/loopscope/loopscope/telemetry/redact"
)

// logOptions are the flags of the log.
type logOptions struct {
	verbosity int
	format    string
	files     logsapi.VModuleConfiguration
	level     *slog.LevelVar // of the log once there is one
}

// debugFrom is the verbosity from which on debugging is logged, as client-go counts it.
const debugFrom = 4

// maxVerbosity is from where on nothing more is logged.
const maxVerbosity = 10

func (o *logOptions) addFlags(flags *pflag.FlagSet) {
	flags.IntVarP(&o.verbosity, "v", "v", 0, "how much is logged: 0 what matters, 4 what helps to debug, up to 10 for every request")
	flags.Var(logsapi.VModuleConfigurationPflag(&o.files), "vmodule", "how much is logged of single files, beside --v: FILE=N,FILE=N with names of files without .go, which may have * and ?")
	flags.StringVar(&o.format, "logging-format", "text", "text or json")
}

func (o *logOptions) check() error {
	var errs []error
	if o.verbosity < 0 || o.verbosity > maxVerbosity {
		errs = append(errs, fmt.Errorf("--v has to be from 0 to %d", maxVerbosity))
	}
	if o.format != "text" && o.format != "json" {
		errs = append(errs, fmt.Errorf("--logging-format=%s: give text or json", o.format))
	}
	for _, f := range o.files {
		if _, err := path.Match(f.FilePattern, ""); err != nil {
			errs = append(errs, fmt.Errorf("--vmodule: %s is no pattern: %w", f.FilePattern, err))
		}
	}
	return errors.Join(errs...)
}

// logger is the log that the flags ask for. What client-go has to say goes there, too.
func (o *logOptions) logger(to io.Writer) *slog.Logger {
	o.level = &slog.LevelVar{}
	o.level.Set(slog.Level(-o.verbosity))
	options := &slog.HandlerOptions{ReplaceAttr: redacted, Level: o.level}
	var handler slog.Handler = slog.NewTextHandler(to, options)
	if o.format == "json" {
		handler = slog.NewJSONHandler(to, options)
	}
	if len(o.files) > 0 {
		handler = byFile{handler, o.level, o.files}
	}
	log := slog.New(handler)
	klogFlags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(klogFlags)
	// They fail for what is no number, and for patterns that are none.
	_ = klogFlags.Set("v", strconv.Itoa(o.verbosity))
	_ = klogFlags.Set("vmodule", logsapi.VModuleConfigurationPflag(&o.files).String())
	klog.SetSlogLogger(log)
	return log
}

// setVerbosity changes how much the log that there is takes, and what client-go has to say.
func (o *logOptions) setVerbosity(level string) (string, error) {
	n, err := strconv.Atoi(level)
	if err != nil || n < 0 || n > maxVerbosity {
		return "", fmt.Errorf("%q is no verbosity: it has to be from 0 to %d", level, maxVerbosity)
	}
	o.level.Set(slog.Level(-n))
	return logs.GlogSetter(strconv.Itoa(n))
}

// newLogger writes the log of a program that runs on. Errors repeat what API servers,
// webhooks and collectors said: none is logged with a credential.
func newLogger(to io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{ReplaceAttr: redacted}))
}

// redacted masks texts and whatever is written as one. A stack is made of ours alone.
func redacted(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value; {
	case a.Key == "stack":
	case v.Kind() == slog.KindString:
		a.Value = slog.StringValue(redact.Text(v.String()))
	case v.Kind() == slog.KindAny && a.Key != slog.LevelKey && v.Any() != nil:
		a.Value = slog.StringValue(redact.Text(fmt.Sprintf("%+v", v.Any())))
	}
	return a
}
