{{- define "store.peers" -}}
{{- $release := .Release.Name }}
{{- range $n := until (int .Values.replicas) }}{{ if $n }},{{ end }}{{ $release }}-{{ $n }}=http://{{ $release }}-{{ $n }}.{{ $release }}:2380{{ end }}
{{- end }}
{{- define "store.labels" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/name: store
{{- end }}
