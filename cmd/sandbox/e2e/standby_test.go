package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
	"github.com/loopscope/loopscope/telemetry"
)

// member is a manager of an electorate, with the file of its history.
type member struct {
	*manager
	file string
}

// electors are managers that read each other's consoles.
type electors struct {
	plane   *testplane.Plane
	client  kubernetes.Interface
	members []*member
	flags   func(t *testing.T) []string
}

func (e *electors) start(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "history.db")
	flags := []string{"--history=" + file, "--kube-api-qps=200", "--kube-api-burst=400"}
	if e.flags != nil {
		flags = append(flags, e.flags(t)...)
	}
	e.members = append(e.members, &member{startManager(t, e.plane.LoopscopeKubeconfig, flags...), file})
}

// leader is the one that leads, and the others.
func (e *electors) leader(t *testing.T) (leader *member, others []*member) {
	t.Helper()
	testplane.Until(t, time.Minute, "leader", func() error {
		leader, others = nil, nil
		for _, m := range e.members {
			l, err := m.leadership()
			switch {
			case err != nil:
				return err
			case l.StandsBy:
				others = append(others, m)
			default:
				leader = m
			}
		}
		if leader == nil {
			return errors.New("nobody leads")
		}
		return nil
	})
	return leader, others
}

// epochOf is the run whose syncs a console shows.
func (m *member) epochOf() (string, error) {
	var list struct {
		Page struct{ Epoch string }
	}
	body, err := m.page("/debug/controllers", "application/json")
	if err != nil {
		return "", err
	}
	return list.Page.Epoch, json.Unmarshal([]byte(body), &list)
}

// show waits until all of them show the leader's run.
func (e *electors) show(t *testing.T) (leader *member, others []*member) {
	t.Helper()
	leader, others = e.leader(t)
	for _, m := range others {
		testplane.Until(t, 15*time.Second, "the leader's decisions on a standby", func() error {
			want, err := leader.epochOf()
			if err != nil {
				return err
			}
			got, err := m.epochOf()
			if err == nil && got != want {
				l, _ := m.leadership()
				err = fmt.Errorf("it shows %s, and the leader is %s: %+v", got, want, l.Following)
			}
			return err
		})
	}
	return leader, others
}

// syncID names a sync.
type syncID struct {
	epoch string
	seq   uint64
}

// kept reads a history: each sync, but for those of the Lease, which everybody looks at.
func kept(t *testing.T, file string) map[syncID]*telemetry.Trace {
	t.Helper()
	archive, err := app.ReadHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	all := map[syncID]*telemetry.Trace{}
	err = archive.Each(t.Context(), telemetry.Query{}, func(x *telemetry.Trace) error {
		id := syncID{x.Epoch, x.Seq}
		switch {
		case all[id] != nil:
			t.Errorf("%s: sync %v is kept twice", file, id)
		case x.Standby:
			t.Errorf("%s: sync %v of %s is only what a standby would have done", file, id, x.Key())
		case x.Loop != "lease":
			all[id] = x
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// changeLeader ends the leader in the middle of a rollout, and gives who stood by.
func (e *electors) changeLeader(t *testing.T, namespace, image string, signal syscall.Signal) (was *member, stood []*member) {
	t.Helper()
	setImage(t, e.client, namespace, "web", image)
	waitFor(t, e.client, namespace, "web", "middle of a rollout", updated(int32(newPods)))
	was, stood = e.leader(t)
	if err := was.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	<-was.exited
	e.members = stood
	e.leader(t)
	e.start(t)
	waitSettled(t, e.client, namespace, "web")
	e.show(t)
	return was, stood
}

// storyOf is the newest rollout as a console tells it.
func (m *member) storyOf(namespace, name string) (story telemetry.Story, err error) {
	var twin struct {
		Page struct{ Story telemetry.Story }
	}
	body, err := m.page("/deployments/"+namespace+"/"+name+"/story.json", "application/json")
	if err != nil {
		return story, err
	}
	if err := json.Unmarshal([]byte(body), &twin); err != nil {
		return story, fmt.Errorf("%w: %.300s", err, body)
	}
	return twin.Page.Story, nil
}

// checkStory: a rollout across a change of leader is whole, has that change, and each sync once.
func checkStory(t *testing.T, m *member, namespace string) {
	t.Helper()
	var story telemetry.Story
	testplane.Until(t, 15*time.Second, "end of the story", func() (err error) {
		story, err = m.storyOf(namespace, "web")
		if err == nil && (story.Settled.IsZero() || story.Open) {
			err = fmt.Errorf("it is open: %v, settled: %s, at %s", story.Open, story.Settled, m.Dashboard)
		}
		return err
	})
	epochs, syncs := map[string]int{}, map[syncID]bool{}
	for _, b := range story.Beats {
		if b.Sync == nil {
			continue
		}
		id := syncID{b.Sync.Epoch, b.Sync.Seq}
		if syncs[id] {
			t.Errorf("sync %v is told twice", id)
		}
		syncs[id] = true
		epochs[id.epoch]++
	}
	if len(epochs) != 2 || story.Counts.Leaders == 0 {
		t.Errorf("%s: the story has syncs of the runs %v, and %d changes of leader", m.Dashboard, epochs, story.Counts.Leaders)
	}
	for _, w := range rescaled(&story) {
		t.Errorf("%s: %s is written twice", m.Dashboard, w)
	}
}

// rescaled are versions of objects that two syncs of a story say that they wrote.
func rescaled(story *telemetry.Story) (twice []string) {
	seen := map[string]bool{}
	for _, b := range story.Beats {
		for _, w := range b.Writes {
			if w.RV == "" {
				continue
			}
			if id := w.Object + " rv " + w.RV; seen[id] {
				twice = append(twice, id)
			} else {
				seen[id] = true
			}
		}
	}
	return twice
}

// follows runs rollouts across changes of leader, and looks at what standbys show and keep.
func (e *electors) follows(t *testing.T) {
	namespace := newNamespace(t, e.client, "standby")
	for len(e.members) < 3 {
		e.start(t)
	}
	e.leader(t)
	create(t, e.client, namespace, oneByOne("web", rolledOutPods, 200*time.Millisecond))
	waitSettled(t, e.client, namespace, "web")
	leader, others := e.show(t)
	for _, m := range others {
		page, err := m.page("/deployments", "text/html")
		if text := tags.ReplaceAllString(page, ""); err != nil || !strings.Contains(text, "Shown is what it decides, as this process receives it.") || !strings.Contains(text, "web") {
			t.Errorf("%v: the page of a standby is %s", err, text)
		}
	}
	testplane.Until(t, settleLimit, "standbys tell the leader's story", func() error { // A late event of a pod may still become part of it.
		want, err := leader.storyOf(namespace, "web")
		if err != nil {
			return err
		}
		for _, m := range others {
			if got, err := m.storyOf(namespace, "web"); err != nil || got.Counts.Syncs != want.Counts.Syncs || got.Counts.Writes != want.Counts.Writes {
				return fmt.Errorf("%v: the story of a standby counts %+v, that of the leader %+v", err, got.Counts, want.Counts)
			}
		}
		return nil
	})
	killed, _ := e.changeLeader(t, namespace, "shop:v2", syscall.SIGKILL)
	first := e.members[0]
	checkStory(t, first, namespace)
	stopped, _ := e.changeLeader(t, namespace, "shop:v3", syscall.SIGTERM)
	files := []string{killed.file, stopped.file}
	last, stood := e.show(t)
	for _, m := range append(stood, last) {
		if m != e.members[len(e.members)-1] { // It has started in the middle.
			checkStory(t, m, namespace)
		}
	}
	e.checkKept(t, files)
}

// checkKept ends all of them: whoever was there has every sync that the leaders before had kept of
// their own, once.
func (e *electors) checkKept(t *testing.T, before []string) {
	t.Helper()
	var there []*member // all the time
	for i, m := range e.members {
		if err := m.stop(30 * time.Second); err != nil {
			t.Error(err)
		}
		if i == 0 {
			there = append(there, m)
		}
	}
	for _, m := range there {
		all := kept(t, m.file)
		// Of the last syncs of a leader that was killed, one standby may have got more than another.
		earlier := map[string]bool{}
		for _, file := range before {
			theirs := kept(t, file)
			own, missing := 0, 0
			for id, x := range theirs {
				if earlier[id.epoch] {
					continue
				}
				own++
				if all[id] == nil {
					missing++
					t.Logf("sync %v of %s, %s to %s, is missing", id, x.Key(), x.Started.Format(time.StampMilli), x.Ended.Format(time.StampMilli))
				}
			}
			for id := range theirs {
				earlier[id.epoch] = true
			}
			t.Logf("%s: %d syncs, %d of %d that a leader before had made are missing", m.file, len(all), missing, own)
			if missing > 0 || own == 0 {
				t.Errorf("%d of %d syncs are missing", missing, own)
			}
		}
		runs := map[string]int{}
		for id := range maps.Keys(all) {
			runs[id.epoch]++
		}
		if len(runs) < 3 {
			t.Errorf("its history has syncs of the runs %v, want those of three leaders", runs)
		}
		t.Logf("syncs of each run: %v", runs)
	}
}

// TestStandbysShowTheLeader: managers on one machine read each other's consoles on loopback.
func TestStandbysShowTheLeader(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none"})
	e := &electors{plane: plane, client: clientOf(t, plane)}
	e.follows(t)
}

// TestStandbysSignIn: managers read each other's secure ports with their own credentials, and those
// that may not say so.
func TestStandbysSignIn(t *testing.T) {
	t.Parallel()
	s := secure(t)
	e := &electors{plane: s.plane, client: s.client, flags: func(t *testing.T) []string {
		host, port, _ := strings.Cut(freeAddress(t), ":")
		return []string{"--bind-address=" + host, "--secure-port=" + port, "--authentication-kubeconfig=" + s.delegating, "--authorization-kubeconfig=" + s.delegating}
	}}
	e.start(t)
	e.start(t)
	_, others := e.leader(t)
	testplane.Until(t, time.Minute, "notice of a right that is lacking", func() error {
		page, err := others[0].page("/deployments", "text/html")
		if text := html.UnescapeString(tags.ReplaceAllString(page, "")); err == nil && !(strings.Contains(text, "Shown is what this process would do in its place: its console at https://") && strings.Contains(text, `User "loopscope" cannot get path "/live"`)) {
			err = fmt.Errorf("the page is %s", text)
		}
		return err
	})
	s.plane.Kubectl(t, "create", "clusterrolebinding", "loopscope-standby-of-the-sandbox", "--clusterrole=loopscope-standby", "--user=loopscope")
	testplane.Until(t, 2*time.Minute, "the stream of the leader", func() error {
		l, err := others[0].leadership()
		if err == nil && (l.Following == nil || !l.Following.Shown) {
			err = fmt.Errorf("it is not shown: %+v", l.Following)
		}
		return err
	})
	e.follows(t)
}

// TestTokensGoToPods: a standby that has the token of a ServiceAccount shows what it would do itself, and
// says why, until the address in the Lease is that of a pod with that ServiceAccount.
func TestTokensGoToPods(t *testing.T) {
	t.Parallel()
	s := secure(t)
	namespace := newNamespace(t, s.client, "tokens")
	s.plane.Kubectl(t, "create", "serviceaccount", "loops", "-n", namespace)
	s.plane.Kubectl(t, "create", "clusterrolebinding", "loops-of-"+namespace, "--clusterrole=cluster-admin", "--serviceaccount="+namespace+":loops")
	config := s.plane.Config(t)
	kubeconfig := writeKubeconfig(t, &clientcmdapi.Cluster{Server: config.Host, CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData},
		&clientcmdapi.AuthInfo{Token: boundToken(t, s.client, namespace, "token")})
	e := &electors{plane: s.plane, client: s.client}
	for range 2 {
		host, port, _ := strings.Cut(freeAddress(t), ":")
		e.members = append(e.members, &member{manager: startManager(t, kubeconfig, "--history=off", "--bind-address="+host, "--secure-port="+port, "--leader-elect-resource-name=loops-of-"+namespace,
			"--authentication-kubeconfig="+s.delegating, "--authorization-kubeconfig="+s.delegating, "--controllers=")})
	}
	_, others := e.leader(t)
	follows := func(what string, is func(f *telemetry.Following) bool) {
		t.Helper()
		testplane.Until(t, 2*time.Minute, what, func() error {
			l, err := others[0].leadership()
			if err == nil && (l.Following == nil || !is(l.Following)) {
				err = fmt.Errorf("it says %+v", l.Following)
			}
			return err
		})
	}
	follows("refusal", func(f *telemetry.Following) bool {
		return strings.HasPrefix(f.Error, "no running pod of the ServiceAccount "+namespace+"/loops has the address 127.0.0.1 to itself, so it is not sent the token")
	})
	s.plane.KubectlInput(t, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "loops", "namespace": %q},
		"spec": {"serviceAccountName": "loops", "schedulerName": "nobody", "containers": [{"name": "main", "image": "loops:v1"}]}}`, namespace), "create", "-f", "-")
	s.plane.Kubectl(t, "-n", namespace, "patch", "pod", "loops", "--subresource=status", "--type=merge", "-p", `{"status": {"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}}`)
	follows("the stream", func(f *telemetry.Following) bool { return f.Connected })
}
