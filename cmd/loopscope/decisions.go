package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/static"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/flow"
)

// decisionFormats are the values of -o, the usual one first.
var decisionFormats = []string{"markdown", "mermaid", "dot", "svg"}

type decisionsOptions struct{ output string }

func newDecisions(s streams) *cobra.Command {
	var o decisionsOptions
	cmd := &cobra.Command{
		Use:   "decisions [LOOP]",
		Short: "Print the questions of a loop and where each answer leads, as text or as a diagram",
		Long: `Prints what a loop asks in a sync, in its order, and where each answer leads: the
list and the diagram that the console shows at /decisions, without counts and
without the Lease. It needs neither a cluster nor a running loopscope.

LOOP is ` + prose.Or(loopNames()) + `; without it all loops are
printed. An SVG draws one. Mermaid of several loops comes as Markdown, a block each.`,
		Example: `  # Every question of every loop
  loopscope decisions

  # The Deployment loop as a picture
  loopscope decisions deployment -o svg > deployment.svg

  # The same drawn by Graphviz
  loopscope decisions deployment -o dot | dot -Tpdf > deployment.pdf

  # For a page of Markdown that draws Mermaid
  loopscope decisions replicaset -o mermaid`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeLoop,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s.out, args) },
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", decisionFormats[0], "what to print: "+prose.Or(decisionFormats))
	completeFlag(cmd, "output", cobra.FixedCompletions(decisionFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// completeLoop completes the first argument, and no file.
func completeLoop(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return loopNames(), cobra.ShellCompDirectiveNoFileComp
}

func loopNames() []string { return app.Loops().Names() }

func (o *decisionsOptions) run(ctx context.Context, out io.Writer, args []string) error {
	if !slices.Contains(decisionFormats, o.output) {
		return fmt.Errorf("output format %q is not known; choose %s", o.output, prose.Or(decisionFormats))
	}
	list, err := chosenLoops(args)
	if err != nil {
		return err
	}
	if o.output == "svg" {
		if len(list) > 1 {
			return fmt.Errorf("an SVG draws one loop: name %s", prose.Or(loopNames()))
		}
		return drawLoop(ctx, out, list[0])
	}
	_, err = io.WriteString(out, o.text(list))
	return err
}

// chosenLoops are the graphs of the loop that is named, or of all.
func chosenLoops(args []string) (list []decision.Graph, err error) {
	for _, l := range app.Loops() {
		if len(args) == 0 || app.Loops().Named(args[0]) == l.Name {
			list = append(list, l.Catalogue.Graph())
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%q is not a loop; choose %s", args[0], prose.Or(loopNames()))
	}
	return list, nil
}

func (o *decisionsOptions) text(list []decision.Graph) string {
	texts := make([]string, len(list))
	for i, g := range list {
		switch {
		case o.output == "dot":
			texts[i] = g.DOT()
		case o.output == "markdown":
			texts[i] = g.Markdown()
		case len(list) == 1:
			texts[i] = g.Mermaid()
		default:
			texts[i] = "## " + g.Loop + "\n\n```mermaid\n" + g.Mermaid() + "```\n"
		}
	}
	return strings.Join(texts, "\n")
}

// drawLoop writes the drawing of the console as a file with its own style.
func drawLoop(ctx context.Context, out io.Writer, g decision.Graph) error {
	if err := views.FlowDrawing(flow.Alone(g, "The "+g.Loop+" loop", static.FlowStyle())).Render(ctx, out); err != nil {
		return fmt.Errorf("draw the %s loop: %w", g.Loop, err)
	}
	_, err := io.WriteString(out, "\n")
	return err
}
