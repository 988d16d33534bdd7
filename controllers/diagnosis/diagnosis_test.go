package diagnosis_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// told is a finding as a sentence has it: "quota small refuses 2 pods (...)", and
// what ends it.
func told(f decision.Finding) string {
	w := append(append(append(decision.Words{}, f.Before...), decision.Words{}.Count(f.Fact(), f.Count).Say(" pods")...), f.After...)
	return w.At(noon) + " | " + f.Unblocks.At(noon)
}

// The messages are those of Kubernetes 1.36, as its API server wrote them.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ name, message, code, says, show string }{
		{"quota", `pods "web-1" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3`,
			"quota", "quota small refuses 2 pods (pods: 3 of 3 used) | when the quota leaves room", "kubectl -n shop describe quota small"},
		{"quota of several", `pods "web-1" is forbidden: exceeded quota: compute, requested: limits.memory=1Gi,requests.cpu=500m, used: limits.memory=4Gi,requests.cpu=1800m, limited: limits.memory=4Gi,requests.cpu=2`,
			"quota", "quota compute refuses 2 pods (limits.memory: 4Gi of 4Gi used, 1Gi requested; requests.cpu: 1800m of 2 used, 500m requested) | when the quota leaves room", ""},
		{"quota of what is not asked for", `pods "web-1" is forbidden: exceeded quota: odd, requested: pods=1, used: pods=3,secrets=2, limited: pods=3,secrets=2,whatever`,
			"quota", "quota odd refuses 2 pods (pods: 3 of 3 used; secrets: 2 of 2 used) | when the quota leaves room", ""},
		{"quota of no pods", `pods "web-1" is forbidden: exceeded quota: none, requested: pods=1,requests.cpu=1, used: pods=0,requests.cpu=0, limited: pods=0,requests.cpu=0`,
			"quota", "quota none refuses 2 pods (pods: 0 of 0 used; requests.cpu: 0 of 0 used) | when the quota is raised", ""},
		{"quota smaller than a pod", `pods "web-1" is forbidden: exceeded quota: tight, requested: requests.cpu=2, used: requests.cpu=0, limited: requests.cpu=1`,
			"quota", "quota tight refuses 2 pods (requests.cpu: 0 of 1 used, 2 requested) | when the quota is raised or the template requests less", ""},
		{"quota smaller than what a pod requests", `pods "web-1" is forbidden: exceeded quota: team, requested: requests.memory=10Gi, used: requests.memory=6Gi, limited: requests.memory=8Gi`,
			"quota", "quota team refuses 2 pods (requests.memory: 6Gi of 8Gi used, 10Gi requested) | when the quota is raised or the template requests less", ""},
		{"quota in other units", `pods "web-1" is forbidden: exceeded quota: team, requested: requests.cpu=2500m, used: requests.cpu=1, limited: requests.cpu=2`,
			"quota", "quota team refuses 2 pods (requests.cpu: 1 of 2 used, 2500m requested) | when the quota is raised or the template requests less", ""},
		{"quota as large as what a pod requests", `pods "web-1" is forbidden: exceeded quota: team, requested: requests.memory=8Gi, used: requests.memory=1Ki, limited: requests.memory=8192Mi`,
			"quota", "quota team refuses 2 pods (requests.memory: 1Ki of 8192Mi used, 8Gi requested) | when the quota leaves room", ""},
		{"quota asks", `pods "web-1" is forbidden: failed quota: compute: must specify limits.cpu for: nginx; requests.memory for: nginx`,
			"quota", "quota compute refuses 2 pods (must specify limits.cpu for: nginx; requests.memory for: nginx) | when the template specifies them or a LimitRange sets defaults", "kubectl -n shop describe quota compute"},
		{"limit range", `pods "web-1" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi`,
			"limit-range", "a LimitRange refuses 2 pods (maximum memory usage per Container is 1Gi, but limit is 2Gi) | when the template or the LimitRange changes", "kubectl -n shop describe limitrange"},
		{"limit range, several", `pods "web-1" is forbidden: [maximum cpu usage per Pod is 1, but limit is 2, minimum memory usage per Container is 64Mi, but request is 1Mi]`,
			"limit-range", "a LimitRange refuses 2 pods (maximum cpu usage per Pod is 1, but limit is 2, minimum memory usage per Container is 64Mi, but request is 1Mi) | when the template or the LimitRange changes", ""},
		{"service account", `pods "web-1" is forbidden: error looking up service account q1/nobody: serviceaccount "nobody" not found`,
			"service-account", "2 pods cannot be created: ServiceAccount nobody does not exist | when that ServiceAccount exists or the template changes", "kubectl -n shop get serviceaccount nobody"},
		{"service account cannot be read", `pods "web-1" is forbidden: error looking up service account q1/nobody: the server is ` + strings.Repeat("x", 100),
			"service-account", "2 pods cannot be created: ServiceAccount nobody cannot be read (the server is xxxxxxxxxxxx … " + strings.Repeat("x", 51) + ") | when it can be read", "kubectl -n shop get serviceaccount nobody"},
		{"priority class", `pods "web-1" is forbidden: no PriorityClass with name urgent was found`,
			"priority-class", "2 pods cannot be created: PriorityClass urgent does not exist | when that PriorityClass exists or the template changes", "kubectl get priorityclass urgent"},
		{"pod security", `pods "web-1" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "nginx" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "nginx" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "nginx" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "nginx" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`,
			"pod-security", "Pod Security restricted:latest refuses 2 pods (allowPrivilegeEscalation, unrestricted capabilities, runAsNonRoot, seccompProfile) | when the template sets what is named, or the level of the namespace changes", "kubectl describe namespace shop"},
		{"policy", `pods "web-1" is forbidden: ValidatingAdmissionPolicy 'norsize' with binding 'norsize-b' denied request: pods must name their owner in the label team`,
			"admission-policy", "policy norsize denies 2 pods (pods must name their owner in the label team) | when the template or the policy changes", "kubectl describe validatingadmissionpolicy norsize"},
		{"webhook denies", `admission webhook "tags.example.com" denied the request: tag latest is not allowed`,
			"webhook", "webhook tags.example.com denies 2 pods (tag latest is not allowed) | when the webhook allows them or the template changes", ""},
		{"webhook denies without a word", `admission webhook "tags.example.com" denied the request without explanation`,
			"webhook", "webhook tags.example.com denies 2 pods (without a reason) | when the webhook allows them or the template changes", ""},
		{"webhook denies with nothing", `admission webhook "tags.example.com" denied the request`,
			"webhook", "webhook tags.example.com denies 2 pods (without a reason) | when the webhook allows them or the template changes", "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"},
		{"webhook denies with a colon", `admission webhook "tags.example.com" denied the request: `,
			"webhook", "webhook tags.example.com denies 2 pods (without a reason) | when the webhook allows them or the template changes", ""},
		{"webhook down", `Internal error occurred: failed calling webhook "tags.example.com": failed to call webhook: Post "https://127.0.0.1:9443/v?timeout=10s": dial tcp 127.0.0.1:9443: connect: connection refused`,
			"webhook", "webhook tags.example.com does not answer, and has to before 2 pods can be created (connection refused) | when the webhook answers or its failurePolicy changes", "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"},
		{"namespace", `pods "web-1" is forbidden: unable to create new content in namespace shop because it is being terminated`,
			"namespace-terminating", "2 pods cannot be created: the namespace is being deleted | when the namespace is gone and recreated", ""},
		{"rights", `pods is forbidden: User "system:serviceaccount:loopscope:loopscope" cannot create resource "pods" in API group "" in the namespace "shop"`,
			"forbidden", "2 pods cannot be created: system:serviceaccount:loopscope:loopscope has no permission to create pods here | when it is granted that permission", "kubectl -n shop auth can-i create pods --as system:serviceaccount:loopscope:loopscope"},
		{"invalid", `Pod "web-1" is invalid: spec.containers[0].image: Required value`,
			"invalid-pod", "the API server finds 2 pods invalid (spec.containers[0].image: Required value) | when the template changes", ""},
		{"webhook with another certificate", `Internal error occurred: failed calling webhook "tags.example.com": failed to call webhook: Post "https://tags.shop.svc:443/v?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority`,
			"webhook", "webhook tags.example.com cannot be called, and has to be before 2 pods can be created (certificate signed by unknown authority) | when that call succeeds or the webhook's failurePolicy changes", ""},
		{"webhook without a pod", `Internal error occurred: failed calling webhook "tags.example.com": failed to call webhook: Post "https://tags.shop.svc:443/v?timeout=10s": no endpoints available for service "tags"`,
			"webhook", `webhook tags.example.com does not answer, and has to before 2 pods can be created (no endpoints available for service "tags") | when the webhook answers or its failurePolicy changes`, ""},
		{"webhook down without a word", `failed calling webhook "tags.example.com"`, "webhook", "webhook tags.example.com cannot be called, and has to be before 2 pods can be created | when that call succeeds or the webhook's failurePolicy changes", ""},
		{"webhook down at length", `failed calling webhook "tags.example.com": failed: ` + strings.Repeat("x", 100), "webhook", "webhook tags.example.com cannot be called, and has to be before 2 pods can be created (" + strings.Repeat("x", 26) + " … " + strings.Repeat("x", 51) + ") | when that call succeeds or the webhook's failurePolicy changes", ""},
		{"unknown words", `pods "web-1" is forbidden: ` + strings.Repeat("because of this and that, ", 12) + `and at last the answer: 42`,
			"replica-failure", "the API server refuses 2 pods (because of this and that, because of this and that … of this and that, because of this and that, because of this and that, and at last the answer: 42) | when it allows them or the template changes", ""},
	} {
		f := diagnosis.OfRefusal(diagnosis.Refusal{Namespace: "shop", Message: c.message, Count: 2, Since: noon})
		if f.Code != c.code || told(f) != c.says || c.show != "" && f.Show != c.show {
			t.Errorf("%s: %s\n got %s, %q\nwant %s, %q", c.name, f.Code, told(f), f.Show, c.says, c.show)
		}
		if _, ok := diagnosis.Codes.Find(f.Code); !ok {
			t.Errorf("%s: code %q has no reason", c.name, f.Code)
		}
		if f.Message != c.message || !diagnosis.IsRefusal(f.Code) || len(f.Unblocks) == 0 {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

func exit(code int64, reason string) decision.ContainerState {
	return decision.ContainerState{Container: "app", Exit: &decision.Exit{Code: code, Reason: reason, Restarts: 4}}
}

func TestPods(t *testing.T) {
	pulling := func(message string) decision.Pod {
		return decision.Pod{Reason: "ErrImagePull", Image: "web:9", Message: message}
	}
	scheduling := func(message string) decision.Pod {
		return decision.Pod{Reason: "Unschedulable", Message: message}
	}
	for _, c := range []struct {
		name string
		pod  decision.Pod
		code string
		says string
	}{
		{"image not found", pulling(`rpc error: code = NotFound desc = failed to pull and unpack image "web:9": failed to resolve reference "web:9": web:9: not found`),
			"image-pull", "cannot pull web:9 (not found) | when that image exists or the template changes"},
		{"image back-off", decision.Pod{Reason: "ImagePullBackOff", Image: "web:9", Message: `Back-off pulling image "web:9": ErrImagePull: rpc error: code = Unknown desc = failed to pull: 429 Too Many Requests - toomanyrequests: You have reached your pull rate limit`},
			"image-pull", "cannot pull web:9 (registry rate limit) | when the registry answers (the kubelet keeps retrying)"},
		{"image denied", pulling(`failed to authorize: failed to fetch oauth token: unexpected status: 401 Unauthorized`),
			"image-pull", "cannot pull web:9 (unauthorized) | when a pull secret allows it or the template changes"},
		{"image that does not exist, or is private", pulling(`failed to pull and unpack image "docker.io/library/web:9": failed to resolve reference "docker.io/library/web:9": pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed`),
			"image-pull", "cannot pull web:9 (no such image, or no access) | when that image exists, a pull secret allows it, or the template changes"},
		{"image that does not exist, or is private, with Docker", pulling(`rpc error: code = Unknown desc = Error response from daemon: pull access denied for nosuch, repository does not exist or may require 'docker login': denied: requested access to the resource is denied`),
			"image-pull", "cannot pull web:9 (no such image, or no access) | when that image exists, a pull secret allows it, or the template changes"},
		{"image without a pull secret", pulling(`failed to resolve reference "registry.example/web:9": pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials`),
			"image-pull", "cannot pull web:9 (unauthorized) | when a pull secret allows it or the template changes"},
		{"image that is called like a trouble", decision.Pod{Reason: "ImagePullBackOff", Image: "enix/x509-exporter:9", Message: `Back-off pulling image "enix/x509-exporter:9"`},
			"image-pull", "cannot pull enix/x509-exporter:9 (ImagePullBackOff) | when that image can be pulled or the template changes"},
		{"registry unknown", pulling(`dial tcp: lookup registry.invalid: no such host`), "image-pull", "cannot pull web:9 (no such host) | when that image can be pulled or the template changes"},
		{"image in new words", pulling(`rpc error: code = Unknown desc = snapshot: the layer is upside down`), "image-pull", "cannot pull web:9 (the layer is upside down) | when that image can be pulled or the template changes"},
		{"image name", decision.Pod{Reason: "InvalidImageName", Image: "WEB:9"}, "image-pull", "cannot pull WEB:9 (invalid image name) | when the template changes"},
		{"never pulled", decision.Pod{Reason: "ErrImageNeverPull", Image: "web:9"}, "image-pull", "cannot pull web:9 (not on the node, and imagePullPolicy is Never) | when that image can be pulled or the template changes"},
		{"image of which nobody says more", decision.Pod{Reason: "ErrImagePull", Image: "web:9"}, "image-pull", "cannot pull web:9 (ErrImagePull) | when that image can be pulled or the template changes"},
		{"back-off of which nobody says more", decision.Pod{Reason: "ImagePullBackOff", Image: "web:9", Message: `Back-off pulling image "web:9": ErrImagePull: `}, "image-pull", "cannot pull web:9 (ImagePullBackOff) | when that image can be pulled or the template changes"},
		{"back-off in new words", decision.Pod{Reason: "ImagePullBackOff", Image: "web:9", Message: "ErrImagePull: rpc error: " + strings.Repeat("x", 100)}, "image-pull", "cannot pull web:9 (" + strings.Repeat("x", 26) + " … " + strings.Repeat("x", 51) + ") | when that image can be pulled or the template changes"},
		{"image in long words", pulling(strings.Repeat("x", 100)), "image-pull", "cannot pull web:9 (" + strings.Repeat("x", 26) + " … " + strings.Repeat("x", 51) + ") | when that image can be pulled or the template changes"},
		{"image that nobody names", decision.Pod{Reason: "InvalidImageName"}, "image-pull", "cannot pull its image (invalid image name) | when the template changes"},
		{"config map", decision.Pod{Reason: "CreateContainerConfigError", Message: `configmap "app" not found`}, "config", "need ConfigMap app, which does not exist | when ConfigMap app exists or the template changes"},
		{"secret", decision.Pod{Reason: "CreateContainerConfigError", Message: `secret "db" not found`}, "config", "need Secret db, which does not exist | when Secret db exists or the template changes"},
		{"key", decision.Pod{Reason: "CreateContainerConfigError", Message: `couldn't find key url in Secret shop/db`}, "config", "need key url of Secret db, which has no such key | when Secret db has that key or the template changes"},
		{"root", decision.Pod{Reason: "CreateContainerConfigError", Message: `container has runAsNonRoot and image will run as root (pod: "web_shop(1)", container: app)`}, "config", "have runAsNonRoot set, and the image runs as root | when runAsUser or the image specifies a non-root user"},
		{"other config", decision.Pod{Reason: "CreateContainerError", Message: `failed to reserve container name "app"`}, "config", `cannot be started as they are configured (failed to reserve container name "app") | when they can be created as configured, or the template changes`},
		{"config without a word", decision.Pod{Reason: "CreateContainerError"}, "config", "cannot be started as they are configured (CreateContainerError) | when they can be created as configured, or the template changes"},
		{"no command", decision.Pod{Reason: "RunContainerError", ContainerState: decision.ContainerState{Container: "app"}, Message: `failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "serve": executable file not found in $PATH: unknown`},
			"start-error", `cannot start container app (exec: "serve": executable file not found in $PATH: unknown) | when the template or the image changes`},
		{"hook", decision.Pod{Reason: "PostStartHookError", ContainerState: decision.ContainerState{Container: "app"}, Message: `exec: "warm" exited with 1`},
			"start-error", `cannot start container app (PostStartHookError: exec: "warm" exited with 1) | when the template or the image changes`},
		{"start error", decision.Pod{Reason: "CrashLoopBackOff", Message: "back-off 5m0s", ContainerState: decision.ContainerState{Container: "app", Exit: &decision.Exit{Code: 128, Reason: "StartError", Message: `exec: "serve": permission denied`}}},
			"start-error", `cannot start container app (exec: "serve": permission denied) | when the template or the image changes`},
		{"start error without a word", decision.Pod{Reason: "CrashLoopBackOff", Message: "back-off 5m0s", ContainerState: decision.ContainerState{Exit: &decision.Exit{Code: 128, Reason: "ContainerCannotRun"}}},
			"start-error", `cannot start a container (back-off 5m0s) | when the template or the image changes`},
		{"cannot run for no reason", decision.Pod{Reason: "RunContainerError"}, "start-error", `cannot start a container (RunContainerError) | when the template or the image changes`},
		{"error", decision.Pod{Reason: "Error"}, "crash-loop", "keep crashing (Error) | when they stay up or the template changes"},
		{"crash without a restart", decision.Pod{Reason: "Error", ContainerState: decision.ContainerState{Container: "app", Exit: &decision.Exit{Code: 1}}}, "crash-loop", "keep crashing (exit code 1) in container app | when they stay up or the template changes"},
		{"started again once", decision.Pod{Reason: "ContainersNotReady", Phase: "Running", ContainerState: decision.ContainerState{Container: "app", Running: noon.Add(-time.Minute), Exit: &decision.Exit{Code: 255, Reason: "Unknown", Restarts: 1}}}, "crash-loop", "run again after one restart (exit code 255) in container app | when they become ready"},
		{"out of memory once", decision.Pod{Reason: "ContainersNotReady", Phase: "Running", ContainerState: decision.ContainerState{Container: "app", Running: noon.Add(-time.Minute), Exit: &decision.Exit{Code: 137, Reason: "OOMKilled", Restarts: 1}}}, "out-of-memory", "run again after one restart (OOMKilled) in container app | when they become ready"},
		{"terminated", decision.Pod{Reason: "CrashLoopBackOff", ContainerState: exit(143, "Error")}, "crash-loop", "keep being killed (exit code 143: SIGTERM, 4 restarts) in container app | when they stay up or the template changes"},
		{"crash by a signal of its own", decision.Pod{Reason: "CrashLoopBackOff", ContainerState: decision.ContainerState{Exit: &decision.Exit{Code: 139, Signal: 6}}}, "crash-loop", "keep crashing (exit code 139: SIGABRT) | when they stay up or the template changes"},
		{"well for as long as a kubelet wants", decision.Pod{Reason: "ContainersNotReady", Phase: "Running", ContainerState: decision.ContainerState{Container: "app", Running: noon.Add(-10 * time.Minute), Exit: &decision.Exit{Code: 1, Restarts: 4}}},
			"readiness", "do not pass the readiness probe of container app | when they become ready"},
		{"crash", decision.Pod{Reason: "CrashLoopBackOff", ContainerState: exit(1, "Error")}, "crash-loop", "keep crashing (exit code 1, 4 restarts) in container app | when they stay up or the template changes"},
		{"between crashes", decision.Pod{Reason: "ContainersNotReady", Phase: "Running", ContainerState: decision.ContainerState{Container: "app", Running: noon.Add(-time.Minute), Probe: "readiness", Exit: &decision.Exit{Code: 1, Restarts: 4}}},
			"crash-loop", "keep crashing (exit code 1, 4 restarts) in container app | when they stay up or the template changes"},
		{"long after a crash", decision.Pod{Reason: "ContainersNotReady", Phase: "Running", ContainerState: decision.ContainerState{Container: "app", Running: noon.Add(-time.Hour), Probe: "readiness", Exit: &decision.Exit{Code: 1, Restarts: 4}}},
			"readiness", "do not pass the readiness probe of container app | when they become ready"},
		{"killed", decision.Pod{Reason: "CrashLoopBackOff", ContainerState: exit(137, "Error")}, "crash-loop", "keep being killed (exit code 137: SIGKILL, 4 restarts) in container app | when they stay up or the template changes"},
		{"segfault", decision.Pod{Reason: "CrashLoopBackOff", ContainerState: exit(139, "Error")}, "crash-loop", "keep crashing (exit code 139: SIGSEGV, 4 restarts) in container app | when they stay up or the template changes"},
		{"highest code that is no signal", decision.Pod{Reason: "CrashLoopBackOff", ContainerState: exit(128, "Error")}, "crash-loop", "keep crashing (exit code 128, 4 restarts) in container app | when they stay up or the template changes"},
		{"code above the signals", decision.Pod{Reason: "CrashLoopBackOff", ContainerState: exit(160, "Error")}, "crash-loop", "keep crashing (exit code 160, 4 restarts) in container app | when they stay up or the template changes"},
		{"ends well", decision.Pod{Reason: "CrashLoopBackOff", ContainerState: exit(0, "Completed")}, "crash-loop", "keep exiting although they should keep running (exit code 0, 4 restarts) in container app | when they stay up or the template changes"},
		{"out of memory", decision.Pod{Reason: "CrashLoopBackOff", ContainerState: exit(137, "OOMKilled")}, "out-of-memory", "keep running out of memory (OOMKilled, 4 restarts) in container app | when its memory limit is raised or it needs less"},
		{"init crashes", decision.Pod{Reason: "CrashLoopBackOff", ContainerState: decision.ContainerState{Container: "wait-for-db", Role: decision.RoleInit, Exit: &decision.Exit{Code: 2, Restarts: 3}}},
			"init", "wait for init container wait-for-db, which fails again and again (exit code 2, 3 restarts) | when that container succeeds or the template changes"},
		{"init starts", decision.Pod{Reason: "PodInitializing", ContainerState: decision.ContainerState{Container: "wait-for-db", Role: decision.RoleInit}},
			"init", "wait for init container wait-for-db, which is still starting | when that container has ended"},
		{"init runs", decision.Pod{Reason: "PodInitializing", ContainerState: decision.ContainerState{Container: "wait-for-db", Role: decision.RoleInit, Running: noon.Add(-5 * time.Minute)}},
			"init", "wait for init container wait-for-db, which has not ended for 5m | when that container has ended"},
		{"init runs again", decision.Pod{Reason: "PodInitializing", ContainerState: decision.ContainerState{Container: "wait-for-db", Role: decision.RoleInit, Running: noon.Add(-5 * time.Minute), Exit: &decision.Exit{Code: 1, Restarts: 1}}},
			"init", "wait for init container wait-for-db, which was started again and has not ended for 5m | when that container has ended"},
		{"init runs again after its node was started again", decision.Pod{Reason: "PodInitializing", ContainerState: decision.ContainerState{Container: "wait-for-db", Role: decision.RoleInit, Running: noon.Add(-5 * time.Minute), Exit: &decision.Exit{Restarts: 2}}},
			"init", "wait for init container wait-for-db, which was started again and has not ended for 5m | when that container has ended"},
		{"init has run for long enough", decision.Pod{Reason: "PodInitializing", ContainerState: decision.ContainerState{Container: "wait-for-db", Role: decision.RoleInit, Running: noon.Add(-10 * time.Minute), Exit: &decision.Exit{Code: 1, Restarts: 3}}},
			"init", "wait for init container wait-for-db, which was started again and has not ended for 10m | when that container has ended"},
		{"init fails though it runs for now", decision.Pod{Reason: "PodInitializing", ContainerState: decision.ContainerState{Container: "wait-for-db", Role: decision.RoleInit, Running: noon.Add(-9 * time.Minute), Exit: &decision.Exit{Code: 1, Restarts: 3}}},
			"init", "wait for init container wait-for-db, which fails again and again (exit code 1, 3 restarts) | when that container succeeds or the template changes"},
		{"init waits for its image after its node was started again", decision.Pod{Reason: "PodInitializing", ContainerState: decision.ContainerState{Container: "wait-for-db", Role: decision.RoleInit, Exit: &decision.Exit{Restarts: 2}}},
			"init", "wait for init container wait-for-db, which is still starting | when that container has ended"},
		{"init was killed with its node", decision.Pod{Reason: "PodInitializing", ContainerState: decision.ContainerState{Container: "wait-for-db", Role: decision.RoleInit, Exit: &decision.Exit{Code: 255}}},
			"init", "wait for init container wait-for-db, which is still starting | when that container has ended"},
		{"init failed before its node was started again", decision.Pod{Reason: "PodInitializing", ContainerState: decision.ContainerState{Container: "wait-for-db", Role: decision.RoleInit, Exit: &decision.Exit{Code: 1, Restarts: 2}}},
			"init", "wait for init container wait-for-db, which fails again and again (exit code 1, 2 restarts) | when that container succeeds or the template changes"},
		{"sidecar", decision.Pod{Reason: "ContainersNotReady", ContainerState: decision.ContainerState{Container: "proxy", Role: decision.RoleSidecar, Running: noon, Probe: "startup"}},
			"sidecar", "wait for sidecar container proxy, which has not started | when that container has started"},
		{"sidecar waits for its image after its node was started again", decision.Pod{Reason: "PodInitializing", ContainerState: decision.ContainerState{Container: "proxy", Role: decision.RoleSidecar, Exit: &decision.Exit{Code: 255, Restarts: 1}}},
			"sidecar", "wait for sidecar container proxy, which has not started | when that container has started"},
		{"sidecar runs again after its node was started again", decision.Pod{Reason: "ContainersNotReady", ContainerState: decision.ContainerState{Container: "proxy", Role: decision.RoleSidecar, Probe: "startup", Running: noon.Add(-time.Minute), Exit: &decision.Exit{Code: 137, Restarts: 1}}},
			"sidecar", "wait for sidecar container proxy, which was started again and has not started up yet | when that container has started"},
		{"sidecar has run for long enough", decision.Pod{Reason: "ContainersNotReady", ContainerState: decision.ContainerState{Container: "proxy", Role: decision.RoleSidecar, Probe: "startup", Running: noon.Add(-10 * time.Minute), Exit: &decision.Exit{Code: 1, Restarts: 3}}},
			"sidecar", "wait for sidecar container proxy, which was started again and has not started up yet | when that container has started"},
		{"sidecar crashes though it runs for now", decision.Pod{Reason: "ContainersNotReady", ContainerState: decision.ContainerState{Container: "proxy", Role: decision.RoleSidecar, Probe: "startup", Running: noon.Add(-9 * time.Minute), Exit: &decision.Exit{Restarts: 2}}},
			"sidecar", "wait for sidecar container proxy, which keeps crashing (exit code 0, 2 restarts) | when that container stays up or the template changes"},
		{"startup probe", decision.Pod{Reason: "ContainersNotReady", Phase: "Running", ContainerState: decision.ContainerState{Container: "app", Running: noon, Probe: "startup"}},
			"startup-probe", "have not passed the startup probe of container app | when they become ready"},
		{"readiness probe", decision.Pod{Reason: "ContainersNotReady", Phase: "Running", Message: "containers with unready status: [app]"}, "readiness", "do not pass the readiness probe of container app | when they become ready"},
		{"readiness gate", decision.Pod{Reason: "ReadinessGatesNotReady", Phase: "Running", Message: `corresponding condition of pod readiness gate "lb.example.com/ready" does not exist.`}, "readiness-gate", "wait for readiness gate lb.example.com/ready | when its readiness gate is set"},
		{"node gone", decision.Pod{Reason: "NodeNotReady", Phase: "Running", Node: "node-2"}, "node-gone", "are on node node-2, which does not answer | when the node answers again, or its pods are evicted (by default, after five minutes)"},
		{"not ready for a reason of its own", decision.Pod{Reason: "Draining", Phase: "Running"}, "readiness", "are not ready (Draining) | when they become ready"},
		{"running", decision.Pod{Phase: "Running"}, "readiness", "are running but not ready | when they become ready"},
		{"containers not ready", decision.Pod{Reason: "ContainersNotReady", Phase: "Running", Message: "containers with unready status: [app"}, "readiness", "are running but not ready | when they become ready"},
		{"not ready for a long reason", decision.Pod{Reason: strings.Repeat("x", 50), Phase: "Running"}, "readiness", "are not ready (" + strings.Repeat("x", 13) + " … " + strings.Repeat("x", 24) + ") | when they become ready"},
		{"gate without a name", decision.Pod{Reason: "ReadinessGatesNotReady", Phase: "Running"}, "readiness-gate", "wait for a readiness gate | when its readiness gate is set"},
		{"node lost", decision.Pod{Reason: "NodeLost", Phase: "Running", Node: "node-2"}, "node-gone", "are on node node-2, which does not answer | when the node answers again, or its pods are evicted (by default, after five minutes)"},
		{"ready", decision.Pod{Ready: true, Reason: "Whatever", Phase: "Running"}, "min-ready", "are ready but not for long enough | when they become available"},
		{"without a node", decision.Pod{Phase: "Pending"}, "starting", "have no node yet | when they become ready"},
		{"on a node", decision.Pod{Phase: "Pending", Node: "node-2"}, "starting", "are still starting: node node-2 has not reported on them | when node node-2 starts them"},
		{"initializing", decision.Pod{Reason: "PodInitializing", Phase: "Pending"}, "starting", "are still starting (PodInitializing) | when they become ready"},
		{"pending", decision.Pod{Reason: "Pending"}, "starting", "are still starting (Pending) | when they become ready"},
		{"pending for a reason of its own", decision.Pod{Reason: "Draining", Phase: "Pending"}, "readiness", "are not ready (Draining) | when they become ready"},
		{"creating", decision.Pod{Reason: "ContainerCreating", Phase: "Pending"}, "starting", "are still starting (ContainerCreating) | when they become ready"},
		{"no volumes yet", decision.Pod{Reason: "ContainerCreating", Phase: "Pending", Node: "node-1", ContainerState: decision.ContainerState{Container: "app", NotSetUp: true}},
			"pod-setup", "wait for their nodes to set up their volumes and network | when volumes and network are set up (kubelets keep trying; the pods' events say what fails)"},
		{"no volumes for an init container yet", decision.Pod{Reason: "PodInitializing", Phase: "Pending", ContainerState: decision.ContainerState{Container: "db", Role: decision.RoleInit, NotSetUp: true}},
			"pod-setup", "wait for their nodes to set up their volumes and network | when volumes and network are set up (kubelets keep trying; the pods' events say what fails)"},
		{"preempting", decision.Pod{Reason: "Unschedulable", Message: "0/1 nodes are available: 1 Insufficient cpu.", Nominated: "node-1"},
			"unschedulable", "wait for room on node node-1, where the scheduler preempts pods of lower priority | when the pods that are preempted there are gone"},
		{"without a scheduler", decision.Pod{Phase: "Pending", Scheduler: "volcano"}, "starting", "have no node yet, and scheduler volcano has said nothing of them | when that scheduler runs and finds a node"},
		{"without a claim", decision.Pod{Phase: "Pending", ResourceClaim: "ResourceClaimTemplate gpu"}, "starting", "have no node yet: no ResourceClaim has been made from ResourceClaimTemplate gpu for them | when that template exists and a node has what it claims"},
		{"with a claim", decision.Pod{Phase: "Pending", ResourceClaim: "ResourceClaim gpu"}, "starting", "have no node yet, and need ResourceClaim gpu | when that claim exists and a node has what it claims"},
		{"gate with a reason", decision.Pod{Reason: "ReadinessGatesNotReady", Phase: "Running", Message: `the status of pod readiness gate "lb.example.com/ready" is not "True", but False` + diagnosis.GateSays + "TargetNotRegistered: wait 5 s"},
			"readiness-gate", "wait for readiness gate lb.example.com/ready (TargetNotRegistered: wait 5 s) | when that condition becomes True"},
		{"late cache", decision.Pod{Reason: "CreateContainerConfigError", Message: "failed to sync configmap cache: timed out waiting for the condition"},
			"config", "cannot be started yet (failed to sync configmap cache: timed out waiting for the condition) | when the kubelet, which keeps trying, succeeds"},
		{"late runtime", decision.Pod{Reason: "CreateContainerError", Message: "context deadline exceeded"}, "config", "cannot be started yet (context deadline exceeded) | when the kubelet, which keeps trying, succeeds"},
		{"busy registry", decision.Pod{Reason: "ErrImagePull", Image: "web:9", Message: "unexpected status from HEAD request to https://registry/v2/web/manifests/9: 503 Service Unavailable"},
			"image-pull", "cannot pull web:9 (registry unavailable) | when the registry answers (the kubelet keeps retrying)"},
		{"busy node", decision.Pod{Reason: "ErrImagePull", Image: "web:9", Message: "pull QPS exceeded"}, "image-pull", "cannot pull web:9 (pull rate limit of the node) | when the node pulls fewer images at once (the kubelet keeps retrying)"},
		{"two containers", decision.Pod{Reason: "ErrImagePull", Image: "web:9", Message: "not found", ContainerState: decision.ContainerState{Container: "app", Also: "proxy"}},
			"image-pull", "cannot pull web:9 (not found); container proxy fails, too | when that image exists or the template changes, and container proxy no longer fails"},
		{"two containers, between crashes of one", decision.Pod{Reason: "CrashLoopBackOff", ContainerState: decision.ContainerState{Container: "app", Also: "proxy", AlsoRunning: noon.Add(-10*time.Minute + 1)}},
			"crash-loop", "keep crashing (CrashLoopBackOff) in container app; container proxy fails, too | when they stay up or the template changes, and container proxy no longer fails"},
		{"two containers, long after the last crash of one", decision.Pod{Reason: "CrashLoopBackOff", ContainerState: decision.ContainerState{Container: "app", Also: "proxy", AlsoRunning: noon.Add(-10 * time.Minute)}},
			"crash-loop", "keep crashing (CrashLoopBackOff) in container app | when they stay up or the template changes"},
		{"gated", decision.Pod{Reason: "SchedulingGated"}, "scheduling-gated", "are held back by a scheduling gate | when its scheduling gates are removed"},
		{"cpu", scheduling("0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."),
			"unschedulable", "fit no node (all 3 nodes have too little cpu) | when a node has more cpu free, or the template requests less"},
		{"several", scheduling("0/6 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 2 node(s) didn't match Pod's node affinity/selector, 3 Insufficient nvidia.com/gpu. preemption: 0/6 nodes are available: 6 Preemption is not helpful for scheduling."),
			"unschedulable", "fit no node (of 6 nodes, 1 is tainted node-role.kubernetes.io/control-plane, 2 conflict with its node selector or affinity, 3 have too little nvidia.com/gpu) | when a suitable node has room, or the template changes"},
		{"memory, with claims looked at", scheduling("0/3 nodes are available: 3 Insufficient memory. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."),
			"unschedulable", "fit no node (all 3 nodes have too little memory) | when a node has more memory free, or the template requests less"},
		{"cordoned", scheduling("0/1 nodes are available: 1 node(s) were unschedulable. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."),
			"unschedulable", "fit no node (the only node is cordoned) | when a node is uncordoned: kubectl uncordon"},
		{"new words", scheduling("0/2 nodes are available: 2 node(s) were painted green."), "unschedulable", "fit no node (of 2 nodes, 2 node(s) were painted green) | when a suitable node has room, or the template changes"},
		{"reasons with commas", scheduling("0/9 nodes are available: 4 node(s) had untolerated taint {a: b, , c, .d, :e}, 2 Insufficient cpu, 0 Insufficient disk, 3 Insufficient memory, 9 Insufficient pods."),
			"unschedulable", "fit no node (of 9 nodes, 4 are tainted a: b, , c, .d, :e, 2 have too little cpu, 0 have too little disk, 3 have too little memory, 9 have too little pods) | when a suitable node has room, or the template changes"},
		{"taint with a sign", scheduling("0/2 nodes are available: 2 node(s) had untolerated taint {a: b, .c}."), "unschedulable", "fit no node (both nodes are tainted a: b, .c) | when a node without that taint has room, or the template tolerates it"},
		{"taint with a colon", scheduling("0/2 nodes are available: 2 node(s) had untolerated taint {a: b, :c}."), "unschedulable", "fit no node (both nodes are tainted a: b, :c) | when a node without that taint has room, or the template tolerates it"},
		{"fewer nodes than there are", scheduling("0/3 nodes are available: 2 Insufficient cpu."), "unschedulable", "fit no node (of 3 nodes, 2 have too little cpu) | when a node has more cpu free, or the template requests less"},
		{"all for two reasons", scheduling("0/3 nodes are available: 3 Insufficient cpu, 3 Insufficient memory."), "unschedulable", "fit no node (of 3 nodes, 3 have too little cpu, 3 have too little memory) | when a suitable node has room, or the template changes"},
		{"taints that are not named", scheduling("0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) had taints that the pod didn't tolerate."), "unschedulable", "fit no node (of 3 nodes, 1 has a taint, 2 have taints) | when a suitable node has room, or the template changes"},
		{"braces without a taint", scheduling("0/2 nodes are available: 2 node(s) had label {a: b}."), "unschedulable", "fit no node (of 2 nodes, 2 node(s) had label {a: b}) | when a suitable node has room, or the template changes"},
		{"no word of nodes", scheduling("the scheduler is tired"), "unschedulable", "fit no node (the scheduler is tired) | when a suitable node exists"},
		{"something else that is not found", scheduling("0/2 nodes are available: 2 node(s) not found."), "unschedulable", "fit no node (of 2 nodes, 2 node(s) not found) | when a suitable node has room, or the template changes"},
		{"something else that is deleted", scheduling("0/2 nodes are available: 2 node(s) is being deleted."), "unschedulable", "fit no node (of 2 nodes, 2 node(s) is being deleted) | when a suitable node has room, or the template changes"},
		{"deleted claim", scheduling(`0/3 nodes are available: persistentvolumeclaim "data" is being deleted. preemption: 0/3`), "volume-claim", "are not scheduled: PersistentVolumeClaim data is being deleted | when a claim of that name is recreated"},
		{"claim without its volume", scheduling(`persistentvolumeclaim "data" bound to non-existent persistentvolume "v"`), "volume-claim", "are not scheduled: PersistentVolume v of claim data no longer exists | when that volume is restored or the claim is recreated"},
		{"claim without its volume, of all nodes", scheduling(`0/3 nodes are available: persistentvolumeclaim "data" bound to non-existent persistentvolume "v". not found`), "volume-claim", "are not scheduled: PersistentVolume v of claim data no longer exists | when that volume is restored or the claim is recreated"},
		{"claim in another state", scheduling(`0/3 nodes are available: persistentvolumeclaim "data" is odd. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.`), "volume-claim", "are not scheduled: PersistentVolumeClaim data is odd | when the claim is usable"},
		{"ephemeral claim", scheduling(`0/3 nodes are available: waiting for ephemeral volume controller to create the persistentvolumeclaim "web-a-data". preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.`), "volume-claim", "are not scheduled: PersistentVolumeClaim web-a-data is not created yet | when kube-controller-manager creates it for the pod"},
		{"volume of another node", scheduling("0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity."), "unschedulable", "fit no node (both nodes conflict with the node affinity of its volume) | when a node that matches it has room"},
		{"claim of one pod", scheduling("0/1 nodes are available: 1 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod. preemption: 0/1 nodes"), "unschedulable", "fit no node (the only node is barred, as another pod uses its ReadWriteOncePod claim) | when that pod is gone (in a rollout: with strategy Recreate or maxSurge 0)"},
		{"scheduler that fails", decision.Pod{Reason: "SchedulerError", Phase: "Pending", Message: `running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded`}, "unschedulable",
			`are not scheduled, as the scheduler fails (running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded) | when the scheduler, which keeps trying, succeeds`},
		{"devices", scheduling("0/3 nodes are available: 3 cannot allocate all claims. still not schedulable"), "unschedulable", "fit no node (all 3 nodes lack devices for its ResourceClaims) | when a node has free devices that satisfy its ResourceClaims"},
		{"no claim", scheduling(`0/3 nodes are available: persistentvolumeclaim "data" not found. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.`),
			"volume-claim", "are not scheduled: PersistentVolumeClaim data does not exist | when PersistentVolumeClaim data exists"},
		{"unbound claim", scheduling(`0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: ...`),
			"volume-claim", "are not scheduled: its PersistentVolumeClaim is not bound to a volume | when the claim is bound"},
	} {
		pods := make([]decision.Pod, 2)
		for i := range pods {
			pods[i] = c.pod
			pods[i].Name, pods[i].Created = []string{"web-a", "web-b"}[i], noon.Add(-time.Hour)
		}
		list := diagnosis.Pods{Namespace: "shop", Now: noon, Usual: time.Minute}.Waiting(pods)
		if len(list) != 1 {
			t.Errorf("%s: %d findings", c.name, len(list))
			continue
		}
		f := list[0]
		if got := strings.TrimPrefix(told(f), "2 pods "); f.Code != c.code || got != c.says {
			t.Errorf("%s: %s\n got %s\nwant %s", c.name, f.Code, got, c.says)
		}
		if _, ok := diagnosis.Codes.Find(f.Code); !ok || f.Show == "" || f.Usual {
			t.Errorf("%s: %+v", c.name, f)
		}
		if byItself := strings.HasPrefix(c.says, "wait for ") && strings.Contains(c.says, " | when that container has "); byItself && f.NeedsAction {
			t.Errorf("%s needs action: %s", c.name, c.says)
		}
	}
}

// Pods that wait for different things are told apart, the most fundamental first.
func TestRankedAndGrouped(t *testing.T) {
	pod := func(name, reason, image, message string) decision.Pod {
		return decision.Pod{Name: name, Reason: reason, Image: image, Message: message, Created: noon.Add(-time.Hour)}
	}
	list := diagnosis.Pods{Now: noon, Usual: time.Minute}.Waiting([]decision.Pod{
		pod("a", "CrashLoopBackOff", "", ""), pod("b", "ImagePullBackOff", "web:9", "Back-off pulling image"), pod("c", "ErrImagePull", "web:9", "web:9: not found"),
		pod("d", "ErrImagePull", "side:1", "side:1: not found"), pod("e", "Unschedulable", "", "0/1 nodes are available: 1 Insufficient cpu."),
		pod("f", "ImagePullBackOff", "web:9", "Back-off pulling image"), pod("g", "ContainerCreating", "", ""),
	})
	var got []string
	for _, f := range diagnosis.Relevant(list) {
		got = append(got, told(f))
	}
	want := []string{
		"1 pods fits no node (the only node has too little cpu) | when a node has more cpu free, or the template requests less",
		"3 pods cannot pull web:9 (not found) | when that image exists or the template changes",
		"1 pods cannot pull side:1 (not found) | when that image exists or the template changes",
		"1 pods keeps crashing (CrashLoopBackOff) | when it stays up or the template changes",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTerminating(t *testing.T) {
	pods := diagnosis.Pods{Namespace: "shop", Now: noon}
	for _, c := range []struct {
		pod         decision.TerminatingPod
		terminating int64
		want        string
	}{
		{decision.TerminatingPod{}, 0, "2 pods are still running"},
		{decision.TerminatingPod{Name: "web-a", Until: noon.Add(30 * time.Second)}, 2, "2 pods are still terminating, up to 30s more"},
		{decision.TerminatingPod{Name: "web-a", Until: noon.Add(-time.Second)}, 2, "2 pods are still terminating"},
		{decision.TerminatingPod{Name: "web-a", Until: noon.Add(-5*time.Second + 1)}, 2, "2 pods are still terminating"},
		{decision.TerminatingPod{Name: "web-a", Until: noon.Add(-5 * time.Second)}, 2, "2 pods are still terminating: the grace period of web-a ended 5s ago"},
		{decision.TerminatingPod{Name: "web-a", Until: noon.Add(time.Second), Finalizers: []string{"example.com/hold"}}, 2, "2 pods are still terminating, up to 1s more"},
		{decision.TerminatingPod{Name: "web-a", Until: noon.Add(-time.Second), Finalizers: []string{strings.Repeat("x", 100)}}, 2, "2 pods are still terminating: a finalizer blocks the deletion of web-a (" + strings.Repeat("x", 23) + " … " + strings.Repeat("x", 44) + ")"},
		{decision.TerminatingPod{Name: "web-a", Until: noon.Add(-time.Minute)}, 2, "2 pods are still terminating: the grace period of web-a ended 1m ago"},
		{decision.TerminatingPod{Name: "web-a", Until: noon.Add(-time.Second), Finalizers: []string{"example.com/hold"}}, 2, "2 pods are still terminating: a finalizer blocks the deletion of web-a (example.com/hold)"},
		{decision.TerminatingPod{Name: "web-a", Until: noon.Add(time.Second), Node: "node-1", NodeGone: true}, 2, "2 pods are still terminating: node node-1 of web-a does not answer"},
	} {
		f := pods.Terminating([]decision.TerminatingPod{c.pod}, 2, c.terminating)
		if got, _, _ := strings.Cut(told(f), " | "); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// One pod is told of without its name, which stands elsewhere.
func TestTerminatingOne(t *testing.T) {
	pods := diagnosis.Pods{Namespace: "shop", Now: noon}
	for _, c := range []struct {
		pod        decision.TerminatingPod
		want, show string
	}{
		{decision.TerminatingPod{Name: "web-a", Until: noon.Add(time.Second)}, "1 pods is still terminating, up to 1s more", "kubectl -n shop get pod web-a -o yaml"},
		{decision.TerminatingPod{Name: "web-a", Until: noon.Add(-time.Minute)}, "1 pods is still terminating: its grace period ended 1m ago", "kubectl -n shop get pod web-a -o yaml"},
		{decision.TerminatingPod{Name: "web-a", Finalizers: []string{"a", "b"}}, "1 pods is still terminating: a finalizer blocks its deletion (a, b)", "kubectl -n shop get pod web-a -o yaml"},
		{decision.TerminatingPod{Name: "web-a", Node: "node-1", NodeGone: true}, "1 pods is still terminating: its node node-1 does not answer", "kubectl describe node node-1"},
	} {
		f := pods.Terminating([]decision.TerminatingPod{c.pod}, 1, 1)
		if got, _, _ := strings.Cut(told(f), " | "); got != c.want || f.Show != c.show || f.NeedsAction != (c.pod.Until.Equal(noon.Add(-time.Minute)) || len(c.pod.Finalizers) > 0) {
			t.Errorf("got %s, %s, needs action %v, want %s, %s", got, f.Show, f.NeedsAction, c.want, c.show)
		}
	}
}

// The first pods are named, and the time left is that of the last.
func TestTerminatingNames(t *testing.T) {
	pods := diagnosis.Pods{Namespace: "shop", Now: noon}
	if f := pods.Terminating(nil, 4, 4); len(f.Pods) != 0 || f.Show != "" || f.After.At(noon) != " are still terminating" {
		t.Errorf("nothing is described: %+v", f)
	}
	var four []decision.TerminatingPod
	for i, name := range []string{"web-a", "web-b", "web-c", "web-d"} {
		four = append(four, decision.TerminatingPod{Name: name, Until: noon.Add([]time.Duration{20, 40, 30, 10}[i] * time.Second)})
	}
	if f := pods.Terminating(four, 4, 4); strings.Join(f.Pods, " ") != "web-a web-b web-c" || f.After.At(noon) != " are still terminating, up to 40s more" {
		t.Errorf("four are: %+v", f)
	}
}

func TestOfDeletion(t *testing.T) {
	f := diagnosis.OfDeletion(diagnosis.Refusal{Namespace: "shop", Message: `unable to delete pods: pods "web-1" is forbidden: not today`, Count: 2, Since: noon})
	if got, want := told(f), "2 pods cannot be deleted (not today) | when the refusing component allows it"; got != want || f.Code != "delete-refused" || f.Show != "kubectl -n shop get events" || !f.NeedsAction || !f.Since.Equal(noon) {
		t.Errorf("got %s: %+v", got, f)
	}
}

// TestOfDeletionShows: the command shows who refuses it.
func TestOfDeletionShows(t *testing.T) {
	for message, want := range map[string]string{
		`admission webhook "keep.example.com" denied the request: not today`:                     "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
		`ValidatingAdmissionPolicy 'keep' with binding 'all' denied request: not today`:          "kubectl describe validatingadmissionpolicy keep",
		`User "loopscope" cannot delete resource "pods" in API group "" in the namespace "shop"`: "kubectl -n shop auth can-i delete pods --as loopscope",
	} {
		f := diagnosis.OfDeletion(diagnosis.Refusal{Namespace: "shop", Message: message, Count: 2})
		if f.Show != want || f.Code != diagnosis.Delete || !f.NeedsAction {
			t.Errorf("%s: %+v", message, f)
		}
	}
}

// TestByName: who refuses is said by its name, whatever was to be written, and however little room there is.
func TestByName(t *testing.T) {
	const set = `replicasets.apps "web-2" is forbidden: `
	for message, want := range map[string]string{
		set + `exceeded quota: sets, requested: count/replicasets.apps=1, used: count/replicasets.apps=3, limited: count/replicasets.apps=3`: "quota sets refuses ReplicaSet web-2 (count/replicasets.apps: 3 of 3 used)",
		`admission webhook "tags.example.com" denied the request: tag latest`:                                                                "webhook tags.example.com denies ReplicaSet web-2 (tag latest)",
		set + `ValidatingAdmissionPolicy 'no-latest' with binding 'all' denied request: failed expression: false`:                            "policy no-latest denies ReplicaSet web-2 (failed expression: false)",
		`Internal error occurred: failed calling webhook "tags.example.com": failed to call webhook: connection refused`:                     "webhook tags.example.com does not answer, and has to before ReplicaSet web-2 can be created (connection refused)",
		`replicasets.apps is forbidden: User "alice" cannot create resource "replicasets" in API group "apps" in the namespace "shop"`:       "ReplicaSet web-2 cannot be created: alice has no permission to create replicasets here",
		set + `User "alice" cannot update resource "replicasets/status" in API group "apps" in the namespace "shop"`:                         "ReplicaSet web-2 cannot be created: alice has no permission to update replicasets/status here",
		set + `not today`: "",
	} {
		before, after, ok := diagnosis.ByName(message, "be created")
		got := ""
		if ok {
			got = append(before.Say("ReplicaSet web-2"), after...).At(noon)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
	for message, want := range map[string]string{
		`unable to delete pods: admission webhook "keep.example.com" denied the request: not today`:                                                       "webhook keep.example.com denies the deletion of 2 pods (not today) | when the webhook allows it",
		`unable to delete pods: Internal error occurred: failed calling webhook "keep.example.com": failed to call webhook: dial tcp: connection refused`: "webhook keep.example.com does not answer, and has to before the deletion of 2 pods can proceed (connection refused) | when the webhook answers or its failurePolicy changes",
		`pods "web-1" is forbidden: ValidatingAdmissionPolicy 'keep' with binding 'all' denied request: failed expression: false`:                         "policy keep denies the deletion of 2 pods (failed expression: false) | when the policy allows it",
		`unable to delete pods: pods "web-1" is forbidden: User "loopscope" cannot delete resource "pods" in API group "" in the namespace "shop"`:        "2 pods cannot be deleted: loopscope has no permission to delete pods here | when it is granted that permission",
	} {
		if f := diagnosis.OfDeletion(diagnosis.Refusal{Message: message, Count: 2}); told(f) != want || f.Code != diagnosis.Delete {
			t.Errorf("%s: %q, want %q", message, told(f), want)
		}
	}
}

// TestMayNot: what a webhook says of a permission is not what the API server says.
func TestMayNot(t *testing.T) {
	const lacks = `User "alice" cannot patch resource "pods" in API group "" in the namespace "shop"`
	again := decision.Words{}.Say("Try 2")
	for message, want := range map[string]string{
		`pods "a" is forbidden: ` + lacks: "Needs action: unblocks when it is granted that permission. Try 2",
		`pods "a" is forbidden: ` + lacks + `: RBAC: clusterrole.rbac.authorization.k8s.io "pods" not found`: "Needs action: unblocks when it is granted that permission. Try 2",
		`admission webhook "w" denied the request: ` + lacks:                                                 "Try 2",
		`pods "a" is forbidden: not today`:                                                                   "Try 2",
	} {
		if got := diagnosis.UnlessGranted(message, again).At(noon); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}

// Refusals are of pods that are not created.
func TestIsRefusal(t *testing.T) {
	for code, want := range map[string]bool{diagnosis.Namespace: true, diagnosis.Refused: true, diagnosis.Delete: false, diagnosis.Image: false, "": false, "of-no-kind": false} {
		if got := diagnosis.IsRefusal(code); got != want {
			t.Errorf("%q: %v", code, got)
		}
	}
}

// A sentence does not name what every pod goes through, unless there is nothing else.
func TestRelevant(t *testing.T) {
	image, usual := decision.Finding{Code: diagnosis.Image}, decision.Finding{Code: diagnosis.Probe, Usual: true}
	starting, ready := decision.Finding{Code: diagnosis.Starting}, decision.Finding{Code: diagnosis.MinReady}
	for _, c := range []struct {
		list []decision.Finding
		want string
	}{
		{[]decision.Finding{image, usual, starting, {Code: diagnosis.Setup}, ready}, "image-pull"},
		{[]decision.Finding{usual, starting, ready}, "readiness starting min-ready"},
		{[]decision.Finding{ready}, "min-ready"},
		{nil, ""},
	} {
		var got []string
		for _, f := range diagnosis.Relevant(c.list) {
			got = append(got, f.Code)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("got %s, want %s", strings.Join(got, " "), c.want)
		}
	}
}

// Of the same rank, what keeps more pods stands first, and otherwise what was first.
func TestRank(t *testing.T) {
	list := []decision.Finding{
		{Code: diagnosis.Image, Count: 2, Message: "a"}, {Code: diagnosis.Image, Count: 2, Message: "b"}, {Code: diagnosis.Image, Count: 5, Message: "c"},
		{Code: diagnosis.Node, Count: 1, Message: "d"}, {Code: diagnosis.Image, Count: 3, Message: "e"}, {Code: diagnosis.Claim, Count: 1, Message: "f"},
	}
	diagnosis.Rank(list)
	var got string
	for _, f := range list {
		got += f.Message
	}
	if got != "fdceab" {
		t.Errorf("got %s", got)
	}
}

// What does not fit loses its middle: both ends stay.
func TestQuoteKeepsTheEnd(t *testing.T) {
	long := `admission webhook "tags.example.com" denied the request: ` + strings.Repeat("blah ", 60) + "use a digest"
	for limit := 3; limit < 200; limit++ {
		got := prose.ClipMiddle(long, limit)
		if n := utf8.RuneCountInString(got); n > limit {
			t.Fatalf("%d characters of %d: %s", n, limit, got)
		}
		if limit > 20 && !strings.HasSuffix(got, "digest") {
			t.Fatalf("limit %d loses the end: %s", limit, got)
		}
	}
}
