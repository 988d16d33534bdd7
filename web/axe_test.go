package web

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// axeSource is the text of axe-core, the usual rules of accessibility, in the
// version that testdata/axe pins with its digest. npm keeps what it has loaded
// once; nothing is left in the tree.
var axeSource = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "axe")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		b, err := os.ReadFile(filepath.Join("testdata/axe", name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--prefer-offline")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return "", &npmError{err, string(out)}
	}
	b, err := os.ReadFile(filepath.Join(dir, "node_modules/axe-core/axe.min.js"))
	return string(b), err
})

type npmError struct {
	err error
	out string
}

func (e *npmError) Error() string {
	return "npm ci in web/testdata/axe: " + e.err.Error() + "\n" + e.out + "\nThis test needs npm and the package axe-core: install Node.js 18 or newer with npm " +
		"(Debian's packages nodejs and npm) and let npm reach its registry once, or its cache."
}

// axeRun lists what axe-core finds wrong. The rules that stand for a whole page
// do not hold for a sheet, which shows one part many times. What axe-core would
// load again beforehand takes a quarter of its time, and serves a rule about sound and
// one that is off by default.
const axeRun = `axe.run(document, {preload: false, resultTypes: ['violations'], rules: {'landmark-unique': {enabled: !SHEET}, 'page-has-heading-one': {enabled: !SHEET}, 'heading-order': {enabled: !SHEET}, 'color-contrast': {enabled: CONTRAST}}})
	.then(r => r.violations.map(v => v.id + ': ' + v.help + ': ' + v.nodes.length + ' such as ' + v.nodes[0].target.join(' ') + ' ' + v.nodes[0].any.concat(v.nodes[0].all, v.nodes[0].none).map(c => c.message).join('; ')))`

// axe checks the page that is open, its contrast too where that is asked for. Scripts of
// the tests are not bound by the page's content security policy.
func axe(t *testing.T, ctx context.Context, isSheet, contrast bool) []string {
	t.Helper()
	source, err := axeSource()
	if err != nil {
		t.Fatal(err)
	}
	if !run(t, ctx, chromedp.Evaluate[bool](`typeof axe === 'object'`)) {
		run(t, ctx, chromedp.Evaluate[bool](source+"\n;true"))
	}
	return run(t, ctx, chromedp.Evaluate[[]string](fmt.Sprintf(`((SHEET, CONTRAST) => %s)(%t, %t)`, axeRun, isSheet, contrast), chromedp.EvalAwaitPromise))
}
