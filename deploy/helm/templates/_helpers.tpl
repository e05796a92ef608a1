{{- define "plinth.labels" -}}
app.kubernetes.io/name: plinth
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "plinth.selector" -}}
app.kubernetes.io/name: plinth
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "plinth.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "plinth.pod" -}}
serviceAccountName: {{ .Release.Name }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
volumes:
  - name: tmp
    emptyDir: { sizeLimit: 2Gi }
  - name: data
    {{- if .Values.dataClaim }}
    persistentVolumeClaim: { claimName: {{ .Values.dataClaim }} }
    {{- else }}
    emptyDir: {}
    {{- end }}
  {{- if .Values.workspacesClaim }}
  - name: workspaces
    persistentVolumeClaim: { claimName: {{ .Values.workspacesClaim }} }
  {{- end }}
{{- end -}}

{{- define "plinth.container" -}}
image: {{ include "plinth.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: tmp, mountPath: /tmp }
  - { name: data, mountPath: /data }
  {{- if .Values.workspacesClaim }}
  - { name: workspaces, mountPath: /workspaces }
  {{- end }}
envFrom:
  - configMapRef: { name: {{ .Release.Name }}-settings }
  - secretRef: { name: {{ required "secretName: name the Secret with DATABASE_URL, SECRET_KEY and REDIS_URL" .Values.secretName }} }
{{- end -}}
