{{- define "muster.image" -}}
{{- $v := .root.Values.image -}}
{{- $digest := index $v.digest .name -}}
{{ $v.registry }}/muster-{{ .name }}{{ if $digest }}@{{ $digest }}{{ else }}:{{ $v.tag }}{{ end }}
{{- end -}}
