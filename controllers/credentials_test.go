package controllers

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// credentialForms are ways to write a credential: what stands before and after it. Each
// secret that is planted has nine letters and digits.
var credentialForms = [][2]string{
	{"https://user:", "@host.example/"}, {"user:", "@host.example/app:1"}, {"postgres://app:", "@db:5432/shop"}, {"redis://:", "@cache:6379"},
	{"Bearer ", ""}, {"bearer ", " was refused"}, {"Basic ", ""}, {"Authorization: Bearer ", ""}, {"Authorization: Basic ", "=="}, {"authorization: token ", ""},
	{"X-Api-Key: ", ""}, {"X-Vault-Token: ", ""}, {"PRIVATE-TOKEN: ", ""}, {"Cookie: session=", ""}, {"Set-Cookie: a=b; c=", ""},
	{"password=", ""}, {"password: ", ""}, {"DB_PASSWORD=", " in env"}, {`"password":"`, `"`}, {"passwd=", ""}, {"pwd='", "'"}, {"pass=", ""}, {"passphrase: ", ""},
	{"api_key=", ""}, {"api-key: ", ""}, {"apikey=", ""}, {"access_key=", ""}, {"token=", ""}, {"token: ", ""}, {`"token":"`, `"`}, {"secret=", ""}, {"client_secret=", ""},
	{"aws_secret_access_key=", ""}, {"refresh_token=", ""}, {"//registry.example/:_authToken=", ""}, {`{"auths":{"r.example":{"auth":"`, `"}}}`},
	{"https://a.example/v1?access_token=", ""}, {"https://a.example/?sv=1&sig=", ""}, {"AccountName=a;AccountKey=", "=="}, {"Server=db;User Id=sa;Password=", ";Encrypt=true"},
	{"registry.example/app#token=", ""}, {"registry.example/app;token=", ""}, {"X-Amz-Signature=", ""},
	{"-----BEGIN RSA PRIVATE KEY-----\n", "\n-----END RSA PRIVATE KEY-----"}, {"ghp_aaaaaaaaaaaaaaaa", "aaaa"}, {"github_pat_aaaaaaaaaaaaaaaa", ""}, {"glpat-aaaaaaaaaa", ""},
	{`{"name":"DB_PASSWORD","value":"`, `"}`}, {"{Name:DB_PASSWORD Value:", " ValueFrom:nil}"}, {"- name: DB_PASSWORD\n  value: ", ""}, {`core.EnvVar{Name:"DB_PASSWORD", Value:"`, `"}`}, {`\"password\":\"`, `\"`},
	{`"password":["`, `"]`}, {"--password ", ""}, {"curl -u admin:", ""}, {"password => ", ""}, {"https%3A%2F%2Fuser%3A", "%40host"}, {"pass\u200bword=", ""},
	{"xoxb-1234567890-", ""}, {"npm_aaaaaaaaaaaaaaaa", ""}, {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.", ""}, {"hvs.aaaaaaaaaaaaaaaa", ""}, {"AIzaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", ""},
}

// TestNoCredentialIsRecorded plants credentials of every form in every string of every
// object: none is recorded, logged or shown, whatever may be shown of the field.
func TestNoCredentialIsRecorded(t *testing.T) {
	longUnderRace(t)
	all, answers := slices.Sorted(maps.Keys(situations)), slices.Sorted(maps.Keys(replies))
	for i, form := range credentialForms {
		situation, reply := all[i%len(all)], answers[i%len(answers)]
		found, _ := plantedIn(t, situation, reply, form[0], form[1])
		for _, path := range slices.Sorted(maps.Keys(found)) {
			t.Errorf("%s, %s: %s shows what stands in %q", situation, reply, path, form)
		}
	}
	for _, situation := range all {
		for _, form := range [][2]string{{"password=", ""}, {"Bearer ", ""}, {"user:", "@registry.example"}} {
			found, _ := plantedIn(t, situation, "echoed", form[0], form[1])
			for _, path := range slices.Sorted(maps.Keys(found)) {
				t.Errorf("%s: %s shows what stands in %q", situation, path, form)
			}
		}
	}
}

// TestConditionsAlikeAreRepeatedApart: two conditions whose masked words are the same are
// each published as they were, and so are revisions that are no numbers.
func TestConditionsAlikeAreRepeatedApart(t *testing.T) {
	var h engine.Redactor
	conditions := map[string]decision.Condition{}
	for _, secret := range []string{"one", "two"} {
		conditions[secret] = h.Condition("Ready"+secret, "True", "Said", "password="+secret)
		if conditions[secret].Message != "password=…" {
			t.Errorf("the record holds %q", conditions[secret].Message)
		}
	}
	for secret, c := range conditions {
		if got := h.UnredactCondition(c).Message; got != "password="+secret {
			t.Errorf("%s is published as %q", secret, got)
		}
	}
	one, two := h.RedactNumber("token=one"), h.RedactNumber("token=two")
	if one == two || strings.Contains(one+two, "token") || h.UnredactNumber(one) != "token=one" || h.UnredactNumber(two) != "token=two" || h.UnredactNumber("7") != "7" {
		t.Errorf("revisions are %q and %q, published as %q and %q", one, two, h.UnredactNumber(one), h.UnredactNumber(two))
	}
	if got := h.Unredact("long…"); got != "long…" {
		t.Errorf("words that end in an ellipsis are published as %q", got)
	}
	rs := &appsv1.ReplicaSet{}
	rs.Annotations = map[string]string{annotationHistory: "1,token=x"}
	stamp(rs.Annotations, &decision.Stamp{History: redact.Numbers("1,token=x") + ",2"})
	if got := rs.Annotations[annotationHistory]; got != "1,token=x,2" {
		t.Errorf("the list of revisions is written as %q", got)
	}
}
