package redact_test

import (
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/telemetry/redact"
	"github.com/loopscope/loopscope/telemetry/safetext"
)

// random is what looks like the secret part of a token; it is put together here so that
// no scanner takes this file for a leak.
const random = "Qz7Zq4kT9vXw2LmB8nRp5sYd"

var jwt = strings.Join([]string{"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", random}, ".")

// credentials are ways to write one, and what must not be left of each.
var credentials = []struct{ text, secret string }{
	{"https://user:" + random + "@host.example/v2/", random},
	{"https://user:p(a," + random + "@host.example/", random},
	{"https://user:p?a#" + random + "@host.example/", random},
	{"https://user:p/a" + random + "@host.example/", random},
	{"postgres://app:" + random + "@db:5432/shop?sslmode=disable", random},
	{"mongodb+srv://app:" + random + "@cluster.example", random},
	{"redis://:" + random + "@cache:6379/0", random},
	{"root:" + random + "@tcp(127.0.0.1:3306)/shop", random},
	{"user:" + random + "@registry.example/app:1", random},
	{"Authorization: Bearer " + random, random},
	{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+random)), "dXNlcjpR"},
	{"authorization: token " + random, random},
	{`"Authorization": "` + random + `"`, random},
	{"Bearer " + random, random},
	{"bearer hunter", "hunter"},
	{"Basic dXNlcjpodW50ZXIy", "dXNlcjpodW50ZXIy"},
	{jwt, "eyJzdWIi"},
	{"AKIA" + "IOSFODNN7EXAMPLE", "IOSFODNN7"},
	{"ASIA" + "IOSFODNN7EXAMPLE", "IOSFODNN7"},
	{"aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "wJalrXUtnFEMI"},
	{"AWS_SECRET_ACCESS_KEY: wJalrXUtnFEMI/K7MDENG", "MDENG"},
	{"aws_session_token=" + random, random},
	{"ghp_" + random, random},
	{"ghs_" + random, random},
	{"github_pat_" + random, random},
	{"glpat-" + random, random},
	{"xoxb-123456789012-" + random, random},
	{"https://hooks.slack.com/services/T000/B000/" + random, random},
	{"npm_" + random, random},
	{"//registry.example/:_authToken=" + random, random},
	{"AIza" + "SyA1234567890abcdefghijklmnopqrstuv", "1234567890abc"},
	{"ya29." + random, random},
	{"GOCSPX-" + random, random},
	{"sk_live_" + random, random},
	{"hvs." + random, random},
	{"dckr_pat_" + random, random},
	{"pypi-" + random, random},
	{"SG." + random + "." + random, random},
	{"password=hunter2", "hunter2"},
	{"password: hunter2", "hunter2"},
	{"DB_PASSWORD=hunter2", "hunter2"},
	{`"password":"hunter 2"`, "hunter"},
	{`{\"password\":\"hunter2\"}`, "hunter2"},
	{`password="hunter\"2"`, "2"},
	{"passwd=hunter2", "hunter2"},
	{"pwd='hunter 2'", "hunter"},
	{"pass=hunter2", "hunter2"},
	{"passphrase: hunter2", "hunter2"},
	{"api_key=hunter2", "hunter2"},
	{"api-key: hunter2", "hunter2"},
	{"apikey=hunter2", "hunter2"},
	{"X-Api-Key: hunter2", "hunter2"},
	{"X-Vault-Token: hunter2", "hunter2"},
	{"PRIVATE-TOKEN: hunter2", "hunter2"},
	{"token=hunter2", "hunter2"},
	{"token: " + random, random},
	{`"token":"hunter2"`, "hunter2"},
	{"secret=hunter2", "hunter2"},
	{"secret: " + random, random},
	{"client_secret=hunter2", "hunter2"},
	{"refresh_token=hunter2", "hunter2"},
	{"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----", "MIIEpAIB"},
	{"-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA", "MIIEpAIB"},
	{"Server=db;User Id=sa;Password=hunter2;Encrypt=true", "hunter2"},
	{"DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + random + "==", random},
	{"Endpoint=sb://a.example/;SharedAccessKey=" + random, random},
	{`{"auths":{"registry.example":{"auth":"dXNlcjpodW50ZXIy"}}}`, "dXNlcjpodW50ZXIy"},
	{`"identitytoken": "hunter2"`, "hunter2"},
	{base64.StdEncoding.EncodeToString([]byte(`{"auths":{"registry.example":{"auth":"x"}}}`)), "eyJhdXRocyI6"},
	{"Cookie: session=hunter2; theme=dark7", "hunter2"},
	{"Set-Cookie: session=hunter2", "hunter2"},
	{"https://api.example/v1?access_token=hunter2", "hunter2"},
	{"https://a.blob.example/c?sv=1&sig=hunter2", "hunter2"},
	{"?sig=hunter2", "hunter2"},
	{"X-Amz-Signature=" + random, random},
	{"registry.example/app#token=hunter2", "hunter2"},
	{"registry.example/app;token=hunter2", "hunter2"},
	{"app=web,password=hunter2", "hunter2"},
	{"password in (hunter2,hunter3)", "hunter3"},
	// Variables and headers, by their names.
	{`Invalid value: core.EnvVar{Name:"DB_PASSWORD", Value:"hunter2", ValueFrom:(*core.EnvVarSource)(nil)}`, "hunter2"},
	{`{"name":"DB_PASSWORD","value":"hunter2"}`, "hunter2"},
	{`{"name": "DB_PASSWORD", "value": "hunter 2"}`, "hunter"},
	{`{\"name\":\"DB_PASSWORD\",\"value\":\"hunter2\"}`, "hunter2"},
	{`{\\\"name\\\":\\\"DB_PASSWORD\\\",\\\"value\\\":\\\"hunter2\\\"}`, "hunter2"},
	{"- name: DB_PASSWORD\n  value: hunter2", "hunter2"},
	{"- name: DB_PASSWORD   value: hunter2", "hunter2"},
	{`"- name: DB_PASSWORD\n  value: hunter2\n"`, "hunter2"},
	{"- name: DB_CERT_KEY\n  value: |\n    hunter2\n    hunter2", "hunter2"},
	{"{Name:DB_PASSWORD Value:hunter2 ValueFrom:nil}", "hunter2"},
	{"{Name:DB_PASSWORD Value:my hunter2 ValueFrom:nil}", "hunter2"},
	{"&EnvVar{Name:DB_PASSWORD,Value:hunter,2,ValueFrom:nil,}", "2,V"},
	{"map[name:DB_PASSWORD value:hunter2]", "hunter2"},
	{`{"key":"apiToken","value":"hunter2"}`, "hunter2"},
	{`{"key":"API_KEY","value":"hunter2"}`, "hunter2"},
	{`{"name":"apiKey","value":"hunter2"}`, "hunter2"},
	{`{"name":"X-Auth","value":"hunter2"}`, "hunter2"},
	{`{"name":"AWS_CREDS","value":"hunter2"}`, "hunter2"},
	{`{"name":"MYPWD","value":"hunter2"}`, "hunter2"},
	{`[{"op":"replace","path":"/data/password","value":"hunter2"}]`, "hunter2"},
	{"- name: Authorization\n  value: Basic hunter2", "hunter2"},
	{"access_token: Bearer hunter2", "hunter2"},
	{"existingPassword=hunter2", "hunter2"},
	{`"auth" : "hunter2"`, "hunter2"},
	{`spec.x.password: Invalid value: "hunter2"`, "hunter2"},
	// Flags.
	{"--password hunter2", "hunter2"},
	{"--db-password  hunter2", "hunter2"},
	{"--token hunter2x9", "hunter2x9"},
	{"-api-key hunter2", "hunter2"},
	{`["--password","hunter2"]`, "hunter2"},
	{`--password 'hunter 2'`, "hunter"},
	{"curl -u admin:hunter2 https://host.example", "hunter2"},
	{"curl -s --user 'admin:hunter2' https://host.example", "hunter2"},
	// Signs, blocks, lists and what was cut off.
	{"password: |\n  hunter2\n  hunter2", "hunter2"},
	{"password: >-\n  hunter2", "hunter2"},
	{"password => hunter2", "hunter2"},
	{"password := hunter2", "hunter2"},
	{"password==hunter2", "hunter2"},
	{"passwords:\n- hunter2", "hunter2"},
	{"\"password\":\n  \"hunter2\"", "hunter2"},
	{"password:      hunter2", "hunter2"},
	{"data[password]=hunter2", "hunter2"},
	{`"password":["hunter2"]`, "hunter2"},
	{`"password": ["hunter2", "hunter3"]`, "hunter3"},
	{"map[password:[hunter2 hunter3]]", "hunter3"},
	{`\\\"password\\\":\\\"hunter2\\\"`, "hunter2"},
	{`password="hunter 2`, "hunter"},
	{`"password" : "hunter2"`, "hunter2"},
	// Keys.
	{"dbpass=hunter2", "hunter2"},
	{"passwords=hunter2", "hunter2"},
	{"DB_PASSWORD_2=hunter2", "hunter2"},
	{"PASSWORD1=hunter2", "hunter2"},
	{`{"dbPassword2":"hunter2"}`, "hunter2"},
	{"API_KEY_2: hunter2", "hunter2"},
	{"tokens=hunter2", "hunter2"},
	{"credentials=hunter2", "hunter2"},
	{"creds=hunter2", "hunter2"},
	{"passcode=hunter2", "hunter2"},
	{"SECRET_KEY_BASE=hunter2", "hunter2"},
	{"ENCRYPTION_KEY=hunter2", "hunter2"},
	{"MASTER_KEY=hunter2", "hunter2"},
	{"signing-key=hunter2", "hunter2"},
	{"private-key=hunter2", "hunter2"},
	{"secretToken: hunter2", "hunter2"},
	{"consumer-secret: hunter2", "hunter2"},
	{"token_secret: hunter2", "hunter2"},
	{"x-amz-signature:hunter2", "hunter2"},
	{"X-Hub-Signature-256: sha256=hunter2", "hunter2"},
	// Headers.
	{"Authorization: hunter", "hunter"},
	{"Authorization: SharedKey acct:hunter2", "hunter2"},
	{`Authorization: Digest username="bob", realm="r", response="hunter2"`, "hunter2"},
	{"map[Authorization:[Bearer hunter2]]", "hunter2"},
	{`{"Authorization":["Basic hunter2"]}`, "hunter2"},
	{"Bearer%20" + random, random},
	// What is encoded, or divided by what cannot be seen.
	{"https%3A%2F%2Fuser%3Ahunter2%40host.example", "hunter2"},
	{"registry.example/app%23token%3Dhunter2", "hunter2"},
	{"%22password%22%3A%22hunter2%22", "hunter2"},
	{"LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlF", "UFJJVkFURS"},
	{"pass\u200bword=hunter2", "hunter2"},
	{"password=hun\u200bter2", "ter2"},
	{"pass\u00adword: hunter2", "hunter2"},
	{"ghp\u2060_" + random, random},
	// Tokens.
	{"dckr_oat_" + random, random},
	{"gloas-" + random, random},
	{"glft-" + random, random},
	{"glagent-" + random, random},
	{"doo_v1_" + random, random},
	{"rk_test_" + random, random},
	{"xoxe-" + random, random},
	{"sk-" + random, random},
	{"glsa_" + random, random},
	{"shpss_" + random, random},
	{"shpca_" + random, random},
	{"dapi" + strings.Repeat("0a1b", 8), "0a1b"},
	{"tskey-auth-" + random, random},
	{"rubygems_" + random, random},
	{"PMAK-" + random, random},
	{"NRAK-" + random, random},
	{"ATATT3" + random, random},
	{"bootstrap token abcdef.0123456789" + "abcdef", "0123456789"},
	{"kubeadm join --token abcdef.0123456789" + "abcdef", "0123456789"},
}

func TestCredentialsAreMasked(t *testing.T) {
	for _, c := range credentials {
		for _, sentence := range []string{c.text, "admission webhook \"a.example\" denied the request: got " + c.text + " in env", "(" + c.text + ")", "a\n" + c.text + "\nb", strings.Repeat("x ", 500) + c.text} {
			got := redact.Text(sentence)
			if strings.Contains(strings.TrimSuffix(got, " in env"), c.secret) {
				t.Errorf("%q stays as %q", sentence, got)
			}
			if !strings.Contains(got, "…") {
				t.Errorf("%q has no mask: %q", sentence, got)
			}
			if strings.HasPrefix(sentence, "admission") && !strings.HasPrefix(got, "admission webhook \"a.example\" denied the request: got ") {
				t.Errorf("%q loses its words: %q", sentence, got)
			}
			if again := redact.Text(got); again != got {
				t.Errorf("%q becomes %q", got, again)
			}
		}
	}
}

var update = flag.Bool("update", false, "write what is left of the credentials into testdata/masked.txt")

// TestMaskedGolden has, line by line, what is left of each of the credentials and of what
// stands around it, to the letter.
func TestMaskedGolden(t *testing.T) {
	var b strings.Builder
	for _, c := range credentials {
		fmt.Fprintf(&b, "%q\n", redact.Text("got "+c.text+" in env"))
	}
	const file = "testdata/masked.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), b.String()); diff != "" {
		t.Errorf("differs (-want +got), run with -update to accept:\n%s", diff)
	}
}

func TestImages(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for ref, want := range map[string]string{
		"nginx": "nginx", "nginx:1.25" + digest: "nginx:1.25" + digest, "registry.example:5000/a/b:v1": "registry.example:5000/a/b:v1", "": "",
		"user:pass@host/app:1": "…@host/app:1", "https://u:p@host/app": "https://…@host/app", "u:p@host/app" + digest: "…@host/app" + digest,
		"nginx#token=abc": "nginx#…", "nginx;token=abc": "nginx;…", "host/nginx?token=abc": "host/nginx?…", "nginx?token=abc": "nginx?…",
		"u:p#x@host/app": "…@host/app", "u:p?x@host/app;a": "…@host/app;…", "nginx:ghp_" + random: "nginx:…", "nginx:1 password=x": "nginx:1 password=…",
		"https://u:p?w@host/app": "https://…@host/app",
		"?x":                     "?…", "nginx?": "nginx?", "a@host": "…@host", "@host": "@host", "@sha256:0a": "@sha256:0a", "sha256:0a": "sha256:0a", "a@sha256:0a": "a@sha256:0a", // One letter before the sign, or none.
		"u:p@host/app@sha512:" + strings.Repeat("0a", 16): "…@host/app@sha512:" + strings.Repeat("0a", 16), "u:p@host/app@sha512:" + strings.Repeat("0a", 15) + "0": "…@sha512:" + strings.Repeat("0a", 15) + "0",
		"u:p@host/app@sha512:" + strings.Repeat("0g", 16): "…@sha512:" + strings.Repeat("0g", 16), "u@host/app@:" + strings.Repeat("0a", 16): "…@:" + strings.Repeat("0a", 16),
		"token@host/app": "…@host/app", "host/app@sha256:abc123…": "host/app@sha256:abc123…", "host/app%23token%3Dhunter2": "host/app%…", "nginx:ghp\u200b_" + random: "nginx:…", "a\nb": "a b",
	} {
		if got := redact.Image(ref); got != want {
			t.Errorf("%q becomes %q, want %q", ref, got, want)
		}
	}
}

// harmless are messages and names of Kubernetes, and words about credentials.
var harmless = []string{
	"", "web-7d4b9c6f5d-x2x9k", "web-7d4b9c6f5d", "0f8fad5b-d9cb-469f-a165-70867728950e", "123456789", "app.kubernetes.io/name=web,pod-template-hash=7d4b9c6f5d",
	"nginx:1.25@sha256:" + strings.Repeat("0123456789abcdef", 4),
	`secret "web-tls" not found`, `secrets "web-tls" is forbidden: User "system:serviceaccount:shop:default" cannot get resource "secrets" in API group "" in the namespace "shop"`,
	"couldn't find key password in Secret shop/db", `configmap "token-config" not found`, "the token bucket is empty",
	`pods "web-1" is forbidden: failed quota: team: must specify limits.cpu for: app; limits.memory for: app`,
	`pods "web-1" is forbidden: exceeded quota: team, requested: pods=1,secrets=1, used: pods=2, limited: pods=2`,
	`MountVolume.SetUp failed for volume "kube-api-access-x7k2p" : failed to fetch token: serviceaccounts "default" not found`,
	`MountVolume.SetUp failed for volume "certs" : references non-existent secret key: tls.crt`,
	"serviceaccount token volume projection is not set", `error looking up service account shop/web: serviceaccount "web" not found`,
	"Unable to retrieve some image pull secrets (regcred); attempting to pull the image may not succeed.",
	`Back-off pulling image "registry.example/app:1.2.3"`, `Failed to pull image "app:1": failed to resolve reference "docker.io/library/app:1": pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed`,
	"rpc error: code = Unknown desc = Error response from daemon: Get https://registry.example/v2/: no basic auth credentials",
	"unauthorized: authentication required", "Basic authentication is not supported", "Bearer token is missing", "bearer tokens expire", "invalid bearer token, Token has been invalidated",
	`Www-Authenticate: Bearer realm="https://auth.example/token",service="registry.example"`,
	"0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {node.kubernetes.io/unreachable: }. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
	`Liveness probe failed: HTTP probe failed with statuscode: 503`, `Readiness probe failed: Get "http://10.0.0.1:8080/healthz": dial tcp 10.0.0.1:8080: connect: connection refused`,
	`Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version and try again`,
	`Deployment.apps "web" is invalid: spec.template.spec.volumes[0].secret: Required value`, `spec.template.spec.containers[0].env[0].valueFrom.secretKeyRef.key: Required value`,
	`spec.template.spec.imagePullSecrets[0].name: Required value`, "spec.template.spec.containers[app].env[DB_PASSWORD]", "metadata.annotations[deployment.kubernetes.io/revision]", "metadata.labels[example.com/token]",
	`admission webhook "policy.example" denied the request: image tag latest is not allowed`, `Internal error occurred: failed calling webhook "v.example": failed to call webhook: Post "https://hook.shop.svc:443/validate": context deadline exceeded`,
	`container has runAsNonRoot and image will run as root (pod: "web-1_shop(0f8fad5b-d9cb-469f-a165-70867728950e)", container: app)`,
	`violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "app" must set securityContext.allowPrivilegeEscalation=false)`,
	"ReplicaSet \"web-7d4b9c6f5d\" has timed out progressing.", "Deployment has minimum availability.", "Error creating: pods \"web-1\" is forbidden: unable to create new content in namespace shop because it is being terminated",
	"CreateContainerConfigError", "ErrImagePull", "secret-reader", "token-reviewer-5b8f7c", "my-password-store", "api-key-manager", "passthrough=true", "authority=example", "cookie-clicker:1.0", "basic-auth-proxy",
	"OOMKilled: exit code 137", "Stopping container app", "node.kubernetes.io/not-ready:NoExecute op=Exists for 300s", "--token-ttl=24h", "signature verification failed for image app:1", "is it there? or not", "größer → 名前 ✓ …",
	"the certificate begins with -----BEGIN CERTIFICATE-----", "x509: certificate signed by unknown authority", "unknown flag: --password", "key secret: not found", "token: expired", "asia-east1-docker.pkg.dev/shop/app:1", "sg.example", "Secret: required",
	// What the kubelet and the API server say every day.
	`MountVolume.SetUp failed for volume "db-password" : secret "db-password" not found`, `MountVolume.SetUp failed for volume "db-secret" : secret "db-secret" not found`,
	`MountVolume.SetUp failed for volume "token" : configmap "x" not found`, `MountVolume.SetUp failed for volume "api-token" : failed to sync secret cache: timed out waiting for the condition`,
	`MountVolume.SetUp failed for volume "credential" : hostPath type check failed: /etc/creds is not a directory`, `secret "db-password": forbidden`, `couldn't mount password: secret "db" not found`,
	`couldn't find key "password": not found`, `key "token": not found`, `{"message":"volume \"db-password\" : secret \"db-password\" not found"}`,
	"spec.x.password: Required value", "spec.apiKey: Required value", "spec.accessKey: Forbidden: may not be set", `spec.password: Invalid value: "": must not be empty`, "spec.password: Invalid value: null",
	"failed to read password: open /etc/pw: no such file", "sh: passwd: command not found", "password: too short", "password: must be at least 8 characters", "password: couldn't be read", "password: <nil>",
	"DB_PASSWORD:  <set to the key 'password' in secret 'db'>  Optional: false", "use --password or --token", "--token is required", "--password must be set", `"--token" must be set`, "authorization: enabled",
	`User "alice@example.com" cannot create resource "pods"`, `User "oidc:alice@example.com" cannot list resource "pods"`, "contact platform-team@example.com", "actions/checkout@v4", "pkg@1.2.3", "see https://example.com/pkg@v1.2.3",
	"registry.example/app:1@sha256:abc123…", `Post "https://hook.svc:443/mutate?timeout=10s": EOF`, `Get "https://10.0.0.1:443/api/v1/pods?limit=500&resourceVersion=0": dial tcp 10.0.0.1:443: i/o timeout`,
	"automountServiceAccountToken=false", "imagePullSecret=regcred not found", "auth.existingSecret=foo", "auth=none", "pass=true", "max_tokens=4096", "passwords=3", "std::token::value", "if token != x",
	`{"name":"LOG_LEVEL","value":"debug"}`, `{"name":"AUTH_ENABLED","value":"true"}`, "{Name:DB_PASSWORD Value: ValueFrom:&EnvVarSource{}}", "- name: DB_PASSWORD\n  valueFrom:", `env[0].name: Required value`, "hostname: token-1, value: x",
	`"secret":{"secretName":"web-tls"}`, `"existingSecret":"db"`, "- name: DB_PASSWORD\n  value:\n- name: LOG_LEVEL", `{"name":"DB_PASSWORD","value":""}`, `{"name":"DB_PASSWORD","valueFrom":{"secretKeyRef":{"name":"db","key":"password"}}}`, "--token sets it",
	"&SecretKeySelector{LocalObjectReference:LocalObjectReference{Name:db-password,},Key:password,Optional:nil,}", `{"key": "key1", "value": "x", "effect": "NoSchedule"}`, "{Key:node.kubernetes.io/not-ready Operator:Exists Value: Effect:NoExecute}", "EnvVar{Name:DB_PASSWORD,Value:,ValueFrom:nil,}",
	"chown -u 1000:1000", "sk-learn-training-7d4b9c6f5d-x2x9k", "task-aaaaaaaaaaaaaaaaaaaaaaaaaa", "abcdef.abcdefghijklmnop.example", "database-dapi-1", "password:", "password: ", "token=", "--password", `"--password",`, "password: |", "password: >-\n", "password=[", "password:\n  secretKeyRef:\n    name: db", `password:\n  secretKeyRef:\n`, "name: key",
}

func TestHarmlessWordsStay(t *testing.T) {
	for _, s := range harmless {
		if got := redact.Text(s); got != s {
			t.Errorf("%q becomes %q", s, got)
		}
	}
	if len(credentials) < 40 || len(harmless) < 40 {
		t.Errorf("%d forms and %d harmless texts", len(credentials), len(harmless))
	}
}

// TestLongCredentials: a value is masked to its end, however long it is.
func TestLongCredentials(t *testing.T) {
	long := strings.Repeat("a1B2", 400)
	for _, key := range []string{"token: ", "Bearer ", "Basic ", "authorization: ", "password="} {
		if got, want := redact.Text("got "+key+long+", refused"), "got "+key+"…, refused"; got != want {
			t.Errorf("%s is left as %q", key, got)
		}
	}
}

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"Get https://user:pass@host.example/: a\nb\tc\x1b[2J": "Get https://…@host.example/: a b c [2J", "password=hunter2\u202e, refused": "password=…, refused", "a\u202eb": "a b", "a\r\nb": "a  b",
		"password: |\n  hunter2\n  hunter3\nuser: bob": "password: |   … user: bob", "web": "web", "": "",
	} {
		if got := redact.Line(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestQueries: what the clients of an API server ask stays, whatever else stands there.
func TestQueries(t *testing.T) {
	for text, want := range map[string]string{
		"https://a/b?timeout=10s&x=hunter2&y=hunter3&limit=5": "https://a/b?timeout=10s&…&limit=5", "https://a/b?timeout=hunter2": "https://a/b?…", "https://a/b?limit": "https://a/b?…",
		"https://a/b?watch=true&resourceVersion=7": "https://a/b?watch=true&resourceVersion=7",
	} {
		if got := redact.Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, c := range credentials {
		f.Add(c.text)
	}
	for _, s := range harmless {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, redacted := range []func(string) string{redact.Text, redact.Line, redact.Image} {
			got := redacted(s)
			if again := redacted(got); again != got {
				t.Fatalf("%q becomes %q and then %q", s, got, again)
			}
			if !utf8.ValidString(got) || strings.ContainsFunc(got, safetext.Hidden) || len(got) > 3*len(s) {
				t.Fatalf("%q becomes %q", s, got)
			}
		}
	})
}

func BenchmarkText(b *testing.B) {
	hostile := map[string]string{"eyJ": "eyJ-", "bearer": "Bearer ", "password": "password", "begin": "-----BEGIN ", "address": "://", "cookie": "cookie: a=b; ", "unlikely": "token:", "header": "authorization:", "crumbs": "cookie:", "list": "token in (",
		"names": "name:", "tokens": "token: x ", "env": "name:key,", "quotes": `token:"token:\"`, "flags": "--token -", "brackets": "password=[", "curl": "curl -u "}
	texts := map[string]string{
		"pulls": `Back-off pulling image "registry.example/shop/web:1.2.3"`,
		"quota": `pods "web-1" is forbidden: exceeded quota: team, requested: pods=1,secrets=1, used: pods=2, limited: pods=2`, "secret": `secret "web-tls" not found`, "login": "Get https://user:pass@registry.example/v2/: timeout", "name": "metadata.labels[app]",
		"env": `{"name":"DB_PASSWORD","value":"hunter2"}`, "namespace": `namespaces "shop" not found: names and keys are wrong`,
	}
	for name, s := range hostile {
		for _, n := range []int{2 << 10, 8 << 10} {
			texts[name+"-"+map[int]string{2 << 10: "2KiB", 8 << 10: "8KiB"}[n]] = strings.Repeat(s, n/len(s))
		}
	}
	for name, s := range texts {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				redact.Text(s)
			}
		})
	}
}
