package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/safetext"
)

// noCharacters writes as escapes what is allowed in JSON and not in YAML.
var noCharacters = strings.NewReplacer("\uFFFE", `\ufffe`, "\uFFFF", `\uffff`)

// outputFlag is -o of a command that prints for people, and on demand for programs.
type outputFlag struct {
	value string
	// own are formats of the command alone.
	own []string
}

// data are the formats of everything, as kubectl has them.
func (o *outputFlag) data() genericclioptions.JSONYamlPrintFlags {
	return genericclioptions.JSONYamlPrintFlags{}
}

func (o *outputFlag) formats() []string {
	data := o.data()
	return append(slices.Clone(o.own), data.AllowedFormats()...)
}

func (o *outputFlag) addFlag(cmd *cobra.Command, what string) {
	cmd.Flags().StringVarP(&o.value, "output", "o", "", "print "+what+" as "+prose.Or(o.formats()))
	completeFlag(cmd, "output", cobra.FixedCompletions(o.formats(), cobra.ShellCompDirectiveNoFileComp))
}

// check refuses a format that is not known.
func (o *outputFlag) check() error {
	if lower := strings.ToLower(o.value); lower == "" || slices.Contains(o.formats(), lower) {
		o.value = lower
		return nil
	}
	return fmt.Errorf("output format %q is not known; choose %s, or omit -o", o.value, prose.Or(o.formats()))
}

// forPrograms reports whether a program is going to read what is printed.
func (o *outputFlag) forPrograms() bool { return o.value != "" && o.value != formatWide }

// print prints a value as the format that was chosen, which is not one of the command's own.
func (o *outputFlag) print(w io.Writer, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("print as %s: %w", o.value, err)
	}
	data := o.data()
	printer, err := data.ToPrinter(o.value)
	if err != nil {
		return err
	}
	clean := noCharacters.Replace(safetext.Text(text.String())) // YAML refuses what no terminal may be told, too.
	return printer.PrintObj(&runtime.Unknown{Raw: []byte(strings.TrimSpace(clean))}, w)
}
