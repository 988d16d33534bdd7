{{- define "loopscope.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "loopscope.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "loopscope.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "loopscope.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "loopscope.selector" -}}
app.kubernetes.io/name: {{ include "loopscope.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "loopscope.labels" -}}
{{ include "loopscope.selector" . }}
{{ include "loopscope.origin" . }}
{{- end }}

{{/* What the Service is found by, by kubectl loopscope and by Prometheus: nameOverride changes none of it. */}}
{{- define "loopscope.service" -}}
app.kubernetes.io/name: loopscope
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "loopscope.origin" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The name and the labels of an object, with what is added to its name. */}}
{{- define "loopscope.named" -}}
name: {{ include "loopscope.fullname" .root }}{{ .suffix }}
labels:
  {{- include "loopscope.labels" .root | nindent 2 }}
{{- end }}

{{- define "loopscope.metadata" -}}
name: {{ include "loopscope.fullname" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "loopscope.labels" . | nindent 2 }}
{{- end }}

{{- define "loopscope.subjects" -}}
- kind: ServiceAccount
  name: {{ include "loopscope.fullname" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* "true" where the API server may be asked about readers. */}}
{{- define "loopscope.delegation" -}}
{{- if kindIs "invalid" .Values.delegation }}{{ ne .Values.mode "namespaced" }}{{ else }}{{ .Values.delegation }}{{ end }}
{{- end }}

{{- define "loopscope.replicas" -}}
{{- if kindIs "invalid" .Values.replicas }}{{ ternary 2 1 (eq .Values.mode "manager") }}{{ else }}{{ .Values.replicas }}{{ end }}
{{- end }}

{{- define "loopscope.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}
{{- end }}

{{/* What a schema cannot say of values that do not go together. */}}
{{- define "loopscope.check" -}}
{{- if and (ne .Values.mode "manager") (gt (int (include "loopscope.replicas" .)) 1) }}
{{- fail (printf "replicas: %v: mode %s runs once, as each would keep a history of its own; set replicas to 1" .Values.replicas .Values.mode) }}
{{- end }}
{{- if and (eq .Values.mode "manager") .Values.history.existingClaim }}
{{- fail "history.existingClaim: each manager needs a volume of its own; leave it out, and set history.persistent" }}
{{- end }}
{{- if and .Values.history.existingClaim (not .Values.history.persistent) }}
{{- fail "history.existingClaim: set history.persistent as well" }}
{{- end }}
{{- if and (or .Values.readers.console .Values.readers.metrics) (ne (include "loopscope.delegation" .) "true") }}
{{- fail "readers: without delegation the API server cannot be asked what they may see; set delegation to true" }}
{{- end }}
{{- range $kind := list "serviceMonitor" "prometheusRule" }}
{{- if and (index $.Values $kind).enabled (ne (include "loopscope.delegation" $) "true") }}
{{- fail (printf "%s: without delegation nobody may read the metrics; set delegation to true" $kind) }}
{{- end }}
{{- end }}
{{- range .Values.extraArgs }}
{{- if regexMatch "^--(watch|namespace|secure-port|history|listen)(=|$)" . }}
{{- fail (printf "extraArgs: %s is set by the chart: use its values" .) }}
{{- end }}
{{- end }}
{{- end }}
