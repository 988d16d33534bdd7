{{- /* Templates that every template of stages.yaml may use. */ -}}

{{- /* pod is the status of a pod of which .do is said:
  creating       nothing has started yet
  ready          all containers run
  pull           the doomed containers' images cannot be pulled ...
  pull-back-off  ... and are not tried again just now
  stuck          the doomed containers wait, or an init container never ends
  unready        the doomed containers run, but a probe fails
  start, crash   the doomed containers have been started, and have ended
Doomed are the containers whose image has such a tag, or the one that annotation
container names, or all but init containers. */ -}}
{{- define "pod" -}}
{{- $pod := .pod }}{{ $do := .do }}{{ $now := Now -}}
{{- $notes := $pod.metadata.annotations | default dict -}}
{{- $waiting := get $notes "sandbox.loopscope.dev/waiting" -}}
{{- $probe := get $notes "sandbox.loopscope.dev/probe" -}}
{{- $exit := get $notes "sandbox.loopscope.dev/exit" -}}
{{- $named := get $notes "sandbox.loopscope.dev/container" -}}
{{- $initial := $pod.spec.initContainers | default list -}}
{{- $id := printf "%s_%s(%s)" $pod.metadata.name $pod.metadata.namespace $pod.metadata.uid -}}
{{- $was := dict -}}
{{- range concat ($pod.status.initContainerStatuses | default list) ($pod.status.containerStatuses | default list) }}{{ $_ := set $was .name . }}{{ end -}}
{{- $known := false -}}
{{- range concat $initial $pod.spec.containers }}{{ if eq .name $named }}{{ $known = true }}{{ end }}{{ end -}}
{{- $noSandbox := or (eq $do "creating") (and (eq $do "stuck") (eq $waiting "ContainerCreating")) -}}
{{- $held := false }}{{ $inits := list }}{{ $regulars := list }}{{ $unready := list }}{{ $incomplete := list -}}
{{- range $i, $c := concat $initial $pod.spec.containers -}}
  {{- $init := lt $i (len $initial) -}}
  {{- $sidecar := and $init (eq ($c.restartPolicy | default "") "Always") -}}
  {{- $old := get $was $c.name | default dict -}}
  {{- $oldState := $old.state | default dict -}}
  {{- $oldWaits := $oldState.waiting | default dict -}}
  {{- $doomed := and (ne $do "ready") (or (and $known (eq $c.name $named)) (and (not $known) (not $init))) -}}
  {{- if hasPrefix "pull" $do -}}
    {{- $doomed = or (and $doomed (eq $waiting "ErrImagePull")) (and (not (contains "@" $c.image)) (regexMatch ":(401|404|429|bad[^:/]*)$" $c.image)) -}}
  {{- end -}}
  {{- $say := get $notes "sandbox.loopscope.dev/message" | replace "$(image)" $c.image | replace "$(container)" $c.name | replace "$(pod)" $id -}}
  {{- $since := $now }}{{ if $oldState.running }}{{ $since = $oldState.running.startedAt }}{{ end -}}
  {{- $restarts := int ($old.restartCount | default 0) -}}
  {{- $s := dict "name" $c.name "image" $c.image "imageID" $c.image "ready" true "started" true "state" (dict "running" (dict "startedAt" $since)) -}}
  {{- if $old.lastState }}{{ $_ := set $s "lastState" $old.lastState }}{{ end -}}
  {{- if or $held $noSandbox -}}
    {{- $reason := "ContainerCreating" }}{{ if or $held $initial }}{{ $reason = "PodInitializing" }}{{ end -}}
    {{- $_ := set $s "state" (dict "waiting" (dict "reason" $reason)) -}}
    {{- $_ := set $s "ready" false }}{{ $_ := set $s "started" false }}{{ $_ := set $s "imageID" "" -}}
  {{- else if not $doomed -}}
    {{- if and $init (not $sidecar) -}}
      {{- $_ := set $s "state" (dict "terminated" (dict "exitCode" 0 "reason" "Completed" "startedAt" $now "finishedAt" $now)) -}}
      {{- $_ := set $s "started" false -}}
    {{- end -}}
  {{- else if hasPrefix "pull" $do -}}
    {{- $ref := $c.image -}}
    {{- if not (contains "/" $ref) }}{{ $ref = printf "docker.io/library/%s" $ref }}{{ else if not (regexMatch "^(localhost|[^/]*[.:][^/]*)/" $ref) }}{{ $ref = printf "docker.io/%s" $ref }}{{ end -}}
    {{- $pull := printf "failed to pull and unpack image %q: " $ref }}{{ $resolve := printf "failed to resolve reference %q: " $ref -}}
    {{- if $say }}{{ $say = $say | replace "$(ref)" $ref -}}
    {{- else if hasSuffix ":401" $ref }}{{ $say = printf "rpc error: code = Unknown desc = %s%spull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed" $pull $resolve -}}
    {{- else if hasSuffix ":429" $ref }}{{ $say = printf "rpc error: code = Unknown desc = %sfailed to copy: httpReadSeeker: failed open: unexpected status code https://registry-1.docker.io/v2/library/app/manifests/429: 429 Too Many Requests - Server message: toomanyrequests: You have reached your unauthenticated pull rate limit. https://www.docker.com/increase-rate-limit" $pull -}}
    {{- else }}{{ $say = printf "rpc error: code = NotFound desc = %s%s%s: not found" $pull $resolve $ref }}{{ end -}}
    {{- $reason := "ErrImagePull" -}}
    {{- if eq $do "pull-back-off" }}{{ $reason = "ImagePullBackOff" }}{{ $say = printf "Back-off pulling image %q: ErrImagePull: %s" $c.image $say }}{{ end -}}
    {{- $_ := set $s "state" (dict "waiting" (dict "reason" $reason "message" $say)) -}}
    {{- $_ := set $s "ready" false }}{{ $_ := set $s "started" false }}{{ $_ := set $s "imageID" "" -}}
    {{- $held = $init -}}
  {{- else if eq $do "crash" -}}
    {{- $code := 1 }}{{ if regexMatch "^[0-9]{1,3}$" $exit }}{{ $code = atoi $exit }}{{ else if $probe }}{{ $code = 137 }}{{ end -}}
    {{- $reason := get $notes "sandbox.loopscope.dev/exit-reason" -}}
    {{- if not $reason }}{{ $reason = "Error" }}{{ if eq $code 0 }}{{ $reason = "Completed" }}{{ end }}{{ end -}}
    {{- $ended := dict "exitCode" $code "reason" $reason "startedAt" $since "finishedAt" $now -}}
    {{- if and $say (not $probe) }}{{ $_ := set $ended "message" $say }}{{ end -}}
    {{- $pause := index (list 2 4 8 16 32 60) (int (min $restarts 5)) -}}
    {{- $_ := set $s "state" (dict "waiting" (dict "reason" "CrashLoopBackOff" "message" (printf "back-off %ds restarting failed container=%s pod=%s" $pause $c.name $id))) -}}
    {{- $_ := set $s "lastState" (dict "terminated" $ended) -}}
    {{- $_ := set $s "ready" false }}{{ $_ := set $s "started" false -}}
    {{- $held = and $init (or (not $sidecar) (eq $probe "startup")) -}}
  {{- else if eq $do "start" -}}
    {{- if eq ($oldWaits.reason | default "") "CrashLoopBackOff" }}{{ $restarts = add1 $restarts }}{{ end -}}
    {{- if $waiting }}{{ $_ := set $s "state" (dict "waiting" (dict "reason" $waiting "message" $say)) }}{{ else }}{{ $_ := set $s "state" (dict "running" (dict "startedAt" $now)) }}{{ end -}}
    {{- $_ := set $s "ready" (eq $probe "liveness") -}}
    {{- $_ := set $s "started" (and (not $waiting) (ne $probe "startup")) -}}
    {{- $held = and $init (or (not $sidecar) (eq $probe "startup")) -}}
  {{- else if and (eq $do "stuck") $waiting -}}
    {{- if and (not $say) (eq $waiting "InvalidImageName") }}{{ $say = printf "Failed to apply default image tag %q: couldn't parse image name %q: invalid reference format" $c.image $c.image -}}
    {{- else if and (not $say) (eq $waiting "ErrImageNeverPull") }}{{ $say = printf "Container image %q is not present with pull policy of Never" $c.image }}{{ end -}}
    {{- $_ := set $s "state" (dict "waiting" (dict "reason" $waiting "message" $say)) -}}
    {{- $_ := set $s "ready" false }}{{ $_ := set $s "started" false -}}
    {{- $held = $init -}}
  {{- else -}}
    {{- $_ := set $s "ready" false }}{{ $held = and $init (not $sidecar) -}}
  {{- end -}}
  {{- $_ := set $s "restartCount" $restarts -}}
  {{- if and $init (not $s.ready) (not (and $sidecar $s.started)) }}{{ $incomplete = append $incomplete $c.name }}{{ end -}}
  {{- if and (not $s.ready) (or $sidecar (not $init)) }}{{ $unready = append $unready $c.name }}{{ end -}}
  {{- if $init }}{{ $inits = append $inits $s }}{{ else }}{{ $regulars = append $regulars $s }}{{ end -}}
{{- end -}}
{{- $initialized := dict "type" "Initialized" "status" "True" "reason" nil "message" nil "lastTransitionTime" $now -}}
{{- if and $incomplete (or $held $noSandbox) }}{{ $initialized = dict "type" "Initialized" "status" "False" "reason" "ContainersNotInitialized" "message" (printf "containers with incomplete status: [%s]" (join " " $incomplete)) "lastTransitionTime" $now }}{{ end -}}
{{- $status := "True" }}{{ $reason := "" }}{{ $text := "" -}}
{{- if $unready }}{{ $status = "False" }}{{ $reason = "ContainersNotReady" }}{{ $text = printf "containers with unready status: [%s]" (join " " $unready) }}{{ end -}}
conditions:
- {{ toJson $initialized }}
- {type: Ready, status: {{ $status | Quote }}, reason: {{ if $reason }}{{ $reason }}{{ else }}null{{ end }}, message: {{ if $text }}{{ $text | Quote }}{{ else }}null{{ end }}, lastTransitionTime: {{ $now | Quote }}}
- {type: ContainersReady, status: {{ $status | Quote }}, reason: {{ if $reason }}{{ $reason }}{{ else }}null{{ end }}, message: {{ if $text }}{{ $text | Quote }}{{ else }}null{{ end }}, lastTransitionTime: {{ $now | Quote }}}
{{- if eq $do "stuck" }}
- {type: PodReadyToStartContainers, status: {{ ternary "False" "True" $noSandbox | Quote }}, lastTransitionTime: {{ $now | Quote }}}
{{- else }}{{ range $pod.status.conditions }}{{ if eq .type "PodReadyToStartContainers" }}
- {type: PodReadyToStartContainers, status: "True", lastTransitionTime: {{ $now | Quote }}}
{{- end }}{{ end }}{{ end }}
{{- if eq $do "ready" }}{{ range $pod.spec.readinessGates }}
- {type: {{ .conditionType | Quote }}, status: "True", lastTransitionTime: {{ $now | Quote }}}
{{- end }}{{ end }}
{{ if $inits }}initContainerStatuses: {{ toJson $inits }}{{ end }}
containerStatuses: {{ toJson $regulars }}
{{ if and (not $pod.status.podIP) (not $noSandbox) (not (hasPrefix "pull" $do)) -}}
{{ $ip := PodIPWith $pod.spec.nodeName ($pod.spec.hostNetwork | default false) $pod.metadata.uid $pod.metadata.name $pod.metadata.namespace -}}
podIP: {{ $ip | Quote }}
podIPs: [{ip: {{ $ip | Quote }}}]
{{- end }}
{{ if and (has $do (list "ready" "unready" "start" "crash")) (not $held) }}phase: Running{{ end }}
{{- end -}}

{{- /* event is what a kubelet reports: .pod, .type, .reason, .message. One that
says the same again is counted. */ -}}
{{- define "event" -}}
{{- $notes := .pod.metadata.annotations | default dict -}}
{{- $name := get $notes "sandbox.loopscope.dev/container" | default (first .pod.spec.containers).name -}}
{{- $id := printf "%s_%s(%s)" .pod.metadata.name .pod.metadata.namespace .pod.metadata.uid -}}
{{- $image := "" }}{{ $count := 1 -}}
{{- range concat (.pod.spec.initContainers | default list) .pod.spec.containers }}{{ if eq .name $name }}{{ $image = .image }}{{ end }}{{ end -}}
{{- range .pod.status.containerStatuses }}{{ $count = max $count (add1 (int .restartCount)) }}{{ end -}}
{{- $message := .message | replace "$(image)" $image | replace "$(container)" $name | replace "$(pod)" $id -}}
apiVersion: v1
kind: Event
metadata:
  name: {{ printf "%s.%s.%s" (trunc 200 .pod.metadata.name) (lower .reason) (adler32sum $message) | Quote }}
  namespace: {{ .pod.metadata.namespace | Quote }}
involvedObject: {apiVersion: v1, kind: Pod, name: {{ .pod.metadata.name | Quote }}, namespace: {{ .pod.metadata.namespace | Quote }}, uid: {{ .pod.metadata.uid | Quote }}, fieldPath: {{ printf "spec.containers{%s}" $name | Quote }}}
type: {{ .type }}
reason: {{ .reason }}
message: {{ $message | Quote }}
count: {{ $count }}
firstTimestamp: {{ toJson .pod.metadata.creationTimestamp }}
lastTimestamp: {{ now | date "2006-01-02T15:04:05Z07:00" | Quote }}
source: {component: kubelet, host: {{ .pod.spec.nodeName | Quote }}}
reportingComponent: kubelet
reportingInstance: {{ .pod.spec.nodeName | Quote }}
{{- end -}}

