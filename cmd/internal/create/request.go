package create

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/cmd/util/editor"
	"k8s.io/kubectl/pkg/rawhttp"
	"k8s.io/kubectl/pkg/scheme"
	"k8s.io/kubectl/pkg/util"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// Request is which objects are sent, how, and how each is printed. Its flags are kubectl's.
type Request struct {
	Factory cmdutil.Factory
	Streams genericiooptions.IOStreams
	// Progress is where the count of objects is shown while they are sent; nil for nowhere.
	Progress io.Writer
	// Before sees all objects before the first one is sent, and none is where it fails; nil
	// for sending each as soon as it is read.
	Before func(context.Context, *Request, []*resource.Info) error

	files    resource.FilenameOptions
	selector string
	manager  string
	print    *genericclioptions.PrintFlags

	saveConfig bool
	edit       bool
	windows    bool
	raw        string
	record     *genericclioptions.RecordFlags
	recorder   genericclioptions.Recorder

	apply      bool
	serverSide bool
	force      bool

	unread      error // why some of the objects could not be read
	definitions definitions
	dryRun      cmdutil.DryRunStrategy
	validation  string
	printObj    func(runtime.Object) error
}

// Object is one that was sent and taken.
type Object struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
	UID             string
	Pods            int64 // that a ReplicaSet or ReplicationController was asked to have
}

// New returns a request that creates objects.
func New(f cmdutil.Factory, streams genericiooptions.IOStreams) *Request {
	return &Request{Factory: f, Streams: streams, record: genericclioptions.NewRecordFlags(), recorder: genericclioptions.NoopRecorder{},
		print: genericclioptions.NewPrintFlags("created").WithTypeSetter(scheme.Scheme)}
}

// NewApply returns a request that applies them, on the server's side.
func NewApply(f cmdutil.Factory, streams genericiooptions.IOStreams) *Request {
	return &Request{Factory: f, Streams: streams, apply: true, recorder: genericclioptions.NoopRecorder{},
		print: genericclioptions.NewPrintFlags("serverside-applied").WithTypeSetter(scheme.Scheme)}
}

// AddFlags adds the flags of the request.
func (r *Request) AddFlags(cmd *cobra.Command) {
	verb := "create"
	if r.apply {
		verb = "apply"
	}
	cmdutil.AddFilenameOptionFlags(cmd, &r.files, "with the objects to "+verb)
	cmdutil.AddValidateFlags(cmd)
	cmdutil.AddDryRunFlag(cmd)
	cmdutil.AddLabelSelectorFlagVar(cmd, &r.selector)
	r.print.AddFlags(cmd)
	cmdutil.AddFieldManagerFlagVar(cmd, &r.manager, managerOf(verb))
	if r.apply {
		cmd.Flags().BoolVar(&r.serverSide, "server-side", true, "merge on the server's side, which is the only way here")
		cmd.Flags().BoolVar(&r.force, "force-conflicts", false, "take fields over from other managers")
		return
	}
	r.record.AddFlags(cmd)
	recorded := cmd.Flags().Lookup("record")
	recorded.Deprecated, recorded.Hidden = "", true // cobra would say so among the objects that are printed.
	cmdutil.AddApplyAnnotationVarFlags(cmd, &r.saveConfig)
	cmd.Flags().BoolVar(&r.edit, "edit", false, "edit the objects before they are created")
	cmd.Flags().BoolVar(&r.windows, "windows-line-endings", windowsLines, "with --edit, end the lines of the edited file as Windows does")
	cmd.Flags().StringVar(&r.raw, "raw", "", "POST the file as it is to this path of the API server")
}

// managerOf is the field manager of what a command writes. Not "loopscope": that is how the loops
// themselves sign what they write.
func managerOf(verb string) string { return "loopscope-" + verb }

// Complete reads what the flags say, and refuses those that contradict each other.
func (r *Request) Complete(cmd *cobra.Command) (err error) {
	if r.dryRun, err = cmdutil.GetDryRunStrategy(cmd); err != nil {
		return Failure(err)
	}
	if r.validation, err = cmdutil.GetValidationDirective(cmd); err != nil {
		return Failure(err)
	}
	if r.record != nil {
		if cmd.Flags().Changed("record") {
			fmt.Fprintln(r.Streams.ErrOut, "Flag --record has been deprecated, --record will be removed in the future")
		}
		if err := r.record.Complete(cmd); err != nil {
			return Failure(err)
		}
		if r.recorder, err = r.record.ToRecorder(); err != nil {
			return Failure(err)
		}
	}
	cmdutil.PrintFlagsWithDryRunStrategy(r.print, r.dryRun)
	printer, err := r.print.ToPrinter()
	if err != nil {
		return Failure(err)
	}
	r.printObj = func(o runtime.Object) error { return printer.PrintObj(o, r.Streams.Out) }
	return Failure(r.validate())
}

func (r *Request) validate() error {
	if err := r.files.RequireFilenameOrKustomize(); err != nil {
		return err
	}
	if r.apply {
		if !r.serverSide {
			return errors.New("apply merges on the server's side alone: omit --server-side=false, or use kubectl apply")
		}
		if r.dryRun == cmdutil.DryRunClient {
			return errors.New("--dry-run=client cannot tell what the API server would merge: give --dry-run=server")
		}
		return nil
	}
	if (r.edit || r.raw != "") && r.Before != nil {
		return errors.New("--explain cannot be used with --edit or --raw: omit one of them")
	}
	if r.edit && r.dryRun != cmdutil.DryRunNone {
		return errors.New("--edit creates what was edited: omit --dry-run, or omit --edit")
	}
	if r.raw == "" {
		return nil
	}
	switch _, bad := url.ParseRequestURI(r.raw); {
	case r.dryRun != cmdutil.DryRunNone:
		return errors.New("--raw posts the file as it is: omit --dry-run")
	case r.edit:
		return errors.New("--raw and --edit are mutually exclusive")
	case len(r.files.Filenames) != 1:
		return errors.New("--raw can only use a single local file or stdin")
	case strings.HasPrefix(r.files.Filenames[0], "http://"), strings.HasPrefix(r.files.Filenames[0], "https://"):
		return errors.New("--raw cannot read from a url")
	case r.files.Recursive:
		return errors.New("--raw and --recursive are mutually exclusive")
	case r.selector != "":
		return errors.New("--raw and --selector (-l) are mutually exclusive")
	case *r.print.OutputFormat != "":
		return errors.New("--raw and --output are mutually exclusive")
	case bad != nil:
		return fmt.Errorf("--raw must be a valid URL path: %w", bad)
	}
	return nil
}

// Writes reports whether anything is written that can be listed afterwards.
func (r *Request) Writes() bool {
	return r.dryRun == cmdutil.DryRunNone && !r.edit && r.raw == ""
}

// PrintsObjects reports whether what is printed of the objects is for other programs.
func (r *Request) PrintsObjects() bool { return *r.print.OutputFormat != "" }

// Run sends the objects and prints each, and returns those that were written. It goes on after
// an object that is refused, and the error is that of all of them, in kubectl's words. Where ctx
// ends what does not answer is left behind.
func (r *Request) Run(ctx context.Context, cmd *cobra.Command) ([]Object, error) {
	switch {
	case r.raw != "":
		client, err := r.Factory.RESTClient()
		if err != nil {
			return nil, Failure(err)
		}
		at := &stage{text: ": whether the file was posted is not known"}
		_, err = at.interruptible(ctx, func() error { return rawhttp.RawPost(client, r.Streams, r.raw, r.files.Filenames[0]) })
		return nil, Failure(err)
	case r.edit: // The editor has the terminal, and its signals.
		return nil, Failure(r.runEdit(cmd))
	}
	r.definitions = definitions{Factory: r.Factory}
	sent := &sending{r: r, ctx: ctx, at: &stage{text: " before anything was sent"}, defined: map[string]bool{}, meter: startMeter(r.Progress, r.verb(), time.Now())}
	defer sent.meter.stop()
	left, err := sent.at.interruptible(ctx, sent.run)
	switch {
	case left:
		return nil, Failure(err)
	case err == nil && sent.count == 0:
		err = fmt.Errorf("no objects passed to %s", strings.Fields(cmd.Name())[0])
	}
	return sent.written, Failure(err)
}

// run reads the objects and sends them.
func (s *sending) run() error {
	list, err := s.r.objects()
	switch {
	case err != nil:
		return err
	case s.r.Before == nil:
		return list.Visit(s.visit)
	}
	return s.afterwards(list)
}

func (r *Request) verb() string {
	if r.apply {
		return "applying"
	}
	return "creating"
}

func (r *Request) done() string {
	if r.apply {
		return "applied"
	}
	return "created"
}

func (r *Request) objects() (*resource.Result, error) {
	validator, err := r.Factory.Validator(r.validation)
	if err != nil {
		return nil, err
	}
	namespace, enforce, err := r.Factory.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	builder := r.Factory.NewBuilder()
	if r.Before != nil { // All are read before the first is sent.
		builder = resource.NewBuilder(&r.definitions)
	}
	result := builder.
		Unstructured().
		Schema(validator).
		ContinueOnError().
		NamespaceParam(namespace).DefaultNamespace().
		FilenameParam(enforce, &r.files).
		LabelSelectorParam(r.selector).
		Flatten().
		Do()
	return result, result.Err()
}

func (r *Request) runEdit(cmd *cobra.Command) error {
	e := editor.NewEditOptions(editor.EditBeforeCreateMode, r.Streams)
	e.FilenameOptions, e.PrintFlags, e.RecordFlags = r.files, r.print, r.record
	e.ValidateOptions = cmdutil.ValidateOptions{ValidationDirective: r.validation}
	e.ApplyAnnotation, e.WindowsLineEndings, e.FieldManager = r.saveConfig, r.windows, r.manager
	if err := e.Complete(r.Factory, nil, cmd); err != nil {
		return err
	}
	return e.Run()
}

// sending is one run over the objects.
type sending struct {
	r       *Request
	ctx     context.Context
	at      *stage
	meter   *meter
	count   int
	written []Object
	defined map[string]bool // CustomResourceDefinitions that were sent
}

// visit sends one object, or passes on why it could not be read.
func (s *sending) visit(info *resource.Info, err error) error {
	if err != nil {
		return err
	}
	if s.ctx.Err() != nil {
		return fmt.Errorf("interrupted: %s was not sent", info.ObjectName())
	}
	if err := s.r.prepare(info); err != nil {
		return err
	}
	if s.r.apply || s.r.dryRun != cmdutil.DryRunClient {
		s.reach(fmt.Sprintf(": whether %s was %s is not known", info.ObjectName(), s.r.done()))
		defer func() {
			s.reach(" after " + prose.Count(s.count, "object") + " " + prose.Plural(s.count, "was", "were") + " sent")
		}()
		o, err := s.send(info)
		if err != nil {
			return s.r.addSource(info, err)
		}
		if isDefinition(info) {
			s.defined[info.Name] = true
		}
		if err := info.Refresh(o, true); err != nil {
			return s.r.addSource(info, err)
		}
	}
	s.count++
	s.meter.sent(s.count)
	s.note(info)
	return s.r.printObj(info.Object)
}

func (s *sending) send(info *resource.Info) (runtime.Object, error) {
	if by := s.r.definitions.of(info); by != "" {
		return s.sendDefined(info, by)
	}
	return s.r.send(info, s.r.dryRun == cmdutil.DryRunServer)
}

func (s *sending) note(info *resource.Info) {
	if !s.r.Writes() {
		return
	}
	o := Object{Kind: info.Mapping.GroupVersionKind, Namespace: info.Namespace, Name: info.Name, Pods: podsAskedIn(info)}
	if m := metaOf(info); m != nil {
		o.UID = string(m.GetUID())
	}
	s.written = append(s.written, o)
}

// prepare is what is done to an object before it is sent or printed.
func (r *Request) prepare(info *resource.Info) error {
	if r.apply {
		return nil
	}
	if err := util.CreateOrUpdateAnnotation(r.saveConfig, info.Object, scheme.DefaultJSONEncoder()); err != nil {
		return r.addSource(info, err)
	}
	// What it would be for is a note on the object: it is created without one as well.
	_ = r.recorder.Record(info.Object)
	return nil
}

func (r *Request) addSource(info *resource.Info, err error) error {
	return cmdutil.AddSourceToErr(r.verb(), info.Source, err)
}

func (r *Request) helper(info *resource.Info, dry bool) *resource.Helper {
	return resource.NewHelper(info.Client, info.Mapping).DryRun(dry).WithFieldManager(r.manager).WithFieldValidation(r.validation)
}

// send creates or applies one object, and returns what the API server made of it.
func (r *Request) send(info *resource.Info, dry bool) (runtime.Object, error) {
	if r.apply {
		return r.sendApply(info, dry)
	}
	return r.helper(info, dry).Create(info.Namespace, true, info.Object)
}
