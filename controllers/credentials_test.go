package controllers

import (
	"maps"
	"slices"
	"testing"
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
