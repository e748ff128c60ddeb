package oauth_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ptyctl/mcpapi/oauth"
)

// The metadata is fetched from the places in RFC 8414 and OpenID Connect, and must name the issuer.
func TestDiscovery(t *testing.T) {
	const (
		inserted = "https://login.example.net/.well-known/openid-configuration/realms/it"
		appended = "https://login.example.net/realms/it/.well-known/openid-configuration"
	)
	good := fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, issuerURL, keysURL)
	for name, test := range map[string]struct {
		pages map[string]string
		want  string // of the error; empty: none
	}{
		"RFC 8414":           {map[string]string{metadataURL: good}, ""},
		"OpenID, inserted":   {map[string]string{inserted: good}, ""},
		"OpenID, appended":   {map[string]string{appended: good}, ""},
		"a page of words":    {map[string]string{metadataURL: "<html>", appended: good}, ""},
		"nowhere":            {nil, appended + ": the answer is 404"},
		"another issuer":     {map[string]string{appended: strings.Replace(good, "/realms/it", "/realms/IT", 1)}, `the metadata is of the issuer "https://login.example.net/realms/IT"`},
		"another with slash": {map[string]string{appended: strings.Replace(good, "/realms/it", "/realms/it/", 1)}, "the metadata is of the issuer"},
		"no keys":            {map[string]string{metadataURL: `{"issuer":"` + issuerURL + `"}`}, "no jwks_uri"},
		"keys by http":       {map[string]string{metadataURL: strings.Replace(good, keysURL, "http://login.example.net/certs", 1)}, "the jwks_uri is not https"},
		"keys by http here":  {map[string]string{metadataURL: strings.Replace(good, keysURL, "http://127.0.0.1:1/certs", 1)}, "the jwks_uri is not https"},
		"keys of a file":     {map[string]string{metadataURL: strings.Replace(good, keysURL, "file://x/etc/passwd", 1)}, "the jwks_uri is not https"},
		"keys elsewhere":     {map[string]string{metadataURL: strings.Replace(good, keysURL, "https://keys.example.org/k", 1), "https://keys.example.org/k": `{"keys":[` + jwk(ed.Public(), "") + `]}`}, ""},
		"a redirect":         {map[string]string{metadataURL: "redirect " + inserted, inserted: good}, ""},
		"to another host":    {map[string]string{metadataURL: "redirect https://evil.test/", "https://evil.test/": good}, "is not followed"},
		"to another port":    {map[string]string{metadataURL: "redirect https://login.example.net:444/", "https://login.example.net:444/": good}, "is not followed"},
		"to http":            {map[string]string{metadataURL: "redirect http://login.example.net/", "http://login.example.net/": good}, "is not followed"},
		"round and round":    {map[string]string{metadataURL: "redirect " + metadataURL}, "is not followed"},
		"keys that redirect": {map[string]string{metadataURL: good, keysURL: "redirect https://evil.test/"}, keysURL + ": a redirect"},
		"a long answer":      {map[string]string{metadataURL: good, keysURL: `{"keys":[` + strings.Repeat(" ", 1<<20) + `]}`}, "longer than 1 MiB"},
		"keys of words":      {map[string]string{metadataURL: good, keysURL: "<html>"}, "the key set is no JSON object"},
		"no key":             {map[string]string{metadataURL: good, keysURL: `{"keys":[]}`}, "the key set has no public key"},
		"a private key":      {map[string]string{metadataURL: good, keysURL: `{"keys":[` + jwk(ed.Public(), `,"d":"`+b64(ed.Seed())+`"`) + `]}`}, "the key set has no public key"},
		"many keys":          {map[string]string{metadataURL: good, keysURL: `{"keys":[` + strings.Repeat("1,", 100) + `1]}`}, "too many keys"},
	} {
		i := newIssuer()
		i.pages = test.pages
		v, _ := i.verifier(t)
		found, err := v.Check(t.Context())
		switch {
		case test.want == "" && (err != nil || found.Keys == 0 || found.KeySet == ""):
			t.Errorf("%s: %+v, %v, want keys", name, found, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want an error: %s", name, err, test.want)
		}
		if i.asked("https://evil.test/") != 0 {
			t.Errorf("%s: another host was asked", name)
		}
	}
	// The document that was found once is asked first.
	i := newIssuer()
	i.pages = map[string]string{appended: good}
	i.header.Set("Cache-Control", "no-store")
	v, _ := i.verifier(t)
	_ = kind(t, v, of("d"))
	_ = kind(t, v, of("x"))
	if i.asked(appended) != 2 || i.asked(metadataURL) != 1 || i.asked(keysURL) != 2 {
		t.Errorf("requests %v, want the second search to begin where the first has ended", i.requests)
	}
}

// An issuer on this machine is reached by http, also by the name localhost. An issuer with an untrusted certificate is
// not reached.
func TestTransport(t *testing.T) {
	keys := `{"keys":[` + jwk(ed.Public(), "") + `]}`
	var issuer string
	serve := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Method != http.MethodGet || r.UserAgent() != "ptyctl" {
			t.Errorf("request %s with %v, want a GET without a token", r.Method, r.Header)
		}
		if r.URL.Path == "/keys" {
			_, _ = w.Write([]byte(keys))
			return
		}
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, issuer, issuer+"/keys")
	}
	check := func(url string) error {
		issuer = url
		v, err := oauth.New(oauth.Options{
			Issuer: url, Audience: audience, Roles: map[string]oauth.Role{"w": oauth.Write}, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		_, err = v.Check(t.Context())
		return err
	}
	plain := httptest.NewServer(http.HandlerFunc(serve))
	defer plain.Close()
	if err := check(plain.URL); err != nil {
		t.Errorf("by http on loopback: %v, want success", err)
	}
	if err := check(strings.Replace(plain.URL, "127.0.0.1", "localhost", 1)); err != nil {
		t.Errorf("by http at localhost: %v, want success", err)
	}
	secure := httptest.NewUnstartedServer(http.HandlerFunc(serve))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	secure.StartTLS()
	defer secure.Close()
	if err := check(secure.URL); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("with a certificate that nobody has signed: %v, want a refusal", err)
	}
}
