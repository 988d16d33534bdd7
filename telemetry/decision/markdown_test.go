package decision

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMarkdown(t *testing.T) {
	got := Markdown(Catalogue{Loop: "demo", Questions: []Question{{
		ID: "Q-1.a", Tag: "Q-1", Text: "Is it a|b?", Doc: "Why not.", Upstream: "syncDemo", Branch: "some",
		Answers: []Answer{{Is: Yes, Then: "write", Writes: []ActionKind{CreatePods, DeletePods}}, {Is: Any, Then: "go on", Next: []string{ToReport}}},
	}, {
		ID: "Q-2", Tag: "Q-2", Text: "And then?", Doc: "Then.", Answers: []Answer{{Is: No, Then: "stop"}},
	}}})
	want := `# Decisions

Every question the loops ask, in their order, with what follows from each answer. The rules behind them are in [RULES.md](RULES.md).
Generated from the catalogues by ` + "`go generate ./controllers/...`" + `; do not edit.

## demo

| id | rule | question | branch |
| --- | --- | --- | --- |
| [` + "`Q-1.a`" + `](#demo-q-1-a) | [Q-1](RULES.md#q-1) | Is it a\|b? | some |
| [` + "`Q-2`" + `](#demo-q-2) | [Q-2](RULES.md#q-2) | And then? |  |

<a id="demo-q-1-a"></a>

### Q-1.a Is it a|b?

Why not.

Upstream: ` + "`syncDemo`" + `.

| answer | then | leads to | may write |
| --- | --- | --- | --- |
| yes | write | [` + "`Q-2`](#demo-q-2) | `create-pods`, `delete-pods`" + ` |
| (any other) | go on | the report |  |

<a id="demo-q-2"></a>

### Q-2 And then?

Then.

Upstream does not ask this.

| answer | then | leads to | may write |
| --- | --- | --- | --- |
| no | stop | the sync ends |  |
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("markdown (-want +got):\n%s", diff)
	}
}
