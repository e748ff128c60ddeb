package config

import (
	"slices"
	"strings"
	"testing"
)

// oauthHead begins a file with an issuer.
const oauthHead = "[server]\ntransport = \"http\"\n[server.http.oauth]\nissuer = \"https://login.example.net/a\"\n"

// Scopes are names with and without quotes, on lines of their own or within braces, and each has its role.
func TestOAuth(t *testing.T) {
	const long = "api://0b1c/a.very:long/scope?with=everything&that=RFC_6749~allows#in-a-name!$%'()*+,;@[]^`{|}-0123456789"
	for name, text := range map[string]string{
		"a table": oauthHead + "audience = \"ptyctl\"\n[server.http.oauth.roles]\n\"a.b:read\" = \"read\"\nplain = \"write\"\n\"" +
			long + "\" = \"write\"\n",
		"braces": oauthHead + "audience = \"ptyctl\"\nroles = {\"a.b:read\" = \"read\", plain = \"write\", \"" + long + "\" = \"write\"}\n",
		"tables": oauthHead + "audience = \"ptyctl\"\n[server.http.oauth.roles.\"a.b:read\"]\nrole = \"read\"\n" +
			"[server.http.oauth.roles.plain]\nrole = \"write\"\n[server.http.oauth.roles]\n\"" + long + "\".role = \"write\"\n",
	} {
		c, _, problems := load(t, text, nil, nil)
		if problems != nil {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		o := c.Server.HTTP.OAuth
		var roles []string
		for _, r := range o.Roles {
			roles = append(roles, r.Name+"="+r.Role)
		}
		if want := []string{"a.b:read=read", "plain=write", long + "=write"}; !slices.Equal(roles, want) ||
			o.Issuer != "https://login.example.net/a" || o.Audience != "ptyctl" {
			t.Errorf("%s: got %+v, want the roles %q", name, o, want)
		}
		// Reading the shown configuration gives the same configuration.
		var file strings.Builder
		for _, s := range c.Settings() {
			file.WriteString(s.Key + " = " + s.Value + "\n")
		}
		again, _, problems := load(t, file.String(), nil, nil)
		if problems != nil || len(again.Changes(c)) != 0 {
			t.Errorf("%s: what is shown is read with the problems %v and the changes %+v", name, problems, again.Changes(c))
		}
		if s := c.Settings(); s[len(s)-3].Header != `[server.http.oauth.roles."a.b:read"]` ||
			!strings.HasSuffix(s[len(s)-3].Origin, "ptyctl.toml:"+map[string]string{"a table": "7", "braces": "6", "tables": "7"}[name]) {
			t.Errorf("%s: a role is shown as %+v", name, s[len(s)-3])
		}
		var other Config
		changed := other.Changes(c)
		if i := slices.IndexFunc(changed, func(c Change) bool { return c.Key == "server.http.oauth.roles" }); i < 0 ||
			!strings.HasPrefix(changed[i].New, `{"a.b:read" = {role = "read"}, plain = {`) || changed[i].Live {
			t.Errorf("%s: the changes are %+v", name, changed)
		}
	}
}

// Each mistake is named at its line, with what to do.
func TestOAuthMistakes(t *testing.T) {
	const roles = "roles = {w = \"write\"}\n"
	for text, want := range map[string]string{
		oauthHead + roles: "4:10: server.http.oauth.issuer is set, but no server.http.oauth.audience: tokens for other servers " +
			"would be accepted; set it to what the claim aud of tokens for this server has",
		oauthHead + "audience = \"a\"\n": "4:10: server.http.oauth.issuer is set, but no scope has a role; add " +
			"[server.http.oauth.roles] with lines such as \"ptyctl:write\" = \"write\"",
		oauthHead + "audience = \"a\"\nroles = {}\n": "4:10: server.http.oauth.issuer is set, but no scope has a role; add ",
		"[server]\ntransport = \"both\"\n[server.http.oauth]\naudience = \"a\"\n": "4:12: server.http.oauth.audience is set, but no " +
			"server.http.oauth.issuer; set both, or neither",
		"[server]\ntransport = \"both\"\n[server.http.oauth]\n" + roles: "4: server.http.oauth.roles has scopes, but there is no " +
			"server.http.oauth.issuer; set it, or remove the table",
		oauthHead + "audience = \"a\"\nroles = {w = \"admin\"}\n": `6:14: server.http.oauth.roles.w.role is "admin"; give one of read, write`,
		oauthHead + "audience = \"a\"\nroles = {w = \"\"}\n":      `6:14: server.http.oauth.roles.w.role is empty; give one of read, write`,
		oauthHead + "audience = \"a\"\nroles = {\"a b\" = \"read\"}\n": `6:10: "a b" is not a valid name for [server.http.oauth.roles.NAME]; ` +
			`use up to 128 characters of ASCII without spaces, quotes and backslashes`,
		oauthHead + "audience = \"a\"\nroles = {\"" + strings.Repeat("x", 129) + "\" = \"read\"}\n": `6:10: "xxxx`,
		oauthHead + "audience = \"a\"\nroles = {w = true}\n":                                        `6:14: server.http.oauth.roles.w.role is a boolean; give one of read, write, in quotes`,
		oauthHead + "audience = \"a\"\nroles = [\"w\"]\n":                                           `6:1: server.http.oauth.roles is an array, but it is a table; write [server.http.oauth.roles.NAME]`,
		"[server.http.oauth]\nissuer = \"http://login.example.net\"": `2:10: server.http.oauth.issuer is "http://login.example.net": who can ` +
			`change what crosses the network could make tokens; use https, which only an issuer at a loopback address may do without`,
		"[server.http.oauth]\nissuer = \"login.example.net\"":          `2:10: server.http.oauth.issuer is no URL without a user, a query and a fragment; give the URL`,
		"[server.http.oauth]\nissuer = \"https://u:p@example.net\"":    `2:10: server.http.oauth.issuer is no URL without a user, a query and a fragment; give the URL`,
		"[server.http.oauth]\nissuer = \"https://example.net/?x=1\"":   `2:10: server.http.oauth.issuer is no URL without a user, a query and a fragment; give the URL`,
		"[server.http.oauth]\nissuer = \"ftp://example.net\"":          `2:10: server.http.oauth.issuer is "ftp://example.net"; give the URL of the issuer`,
		"[server.http.oauth]\nissuer = \"http://127.0.0.1.evil.test\"": `2:10: server.http.oauth.issuer is "http://127.0.0.1.evil.test": who can`,
		"[server.http.oauth]\nissuers = \"x\"":                         `2:1: there is no key server.http.oauth.issuers; did you mean server.http.oauth.issuer?`,
	} {
		_, _, problems := load(t, text, nil, nil)
		if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), want) {
			t.Errorf("%s\ngot:\n%swant one problem:\n%s", text, lines(problems), want)
		}
	}
	for _, issuer := range []string{"http://127.0.0.1:1", "http://[::1]:1/a", "http://localhost:1", "https://example.net/"} {
		if err := issuerURL(issuer); err != nil {
			t.Errorf("issuer %s: %v, want it accepted", issuer, err)
		}
	}
	// An issuer is enough to keep callers apart.
	if _, _, problems := load(t, oauthHead+"audience = \"a\"\n"+roles+"[server.http]\nisolate = true", nil, nil); problems != nil {
		t.Errorf("isolate with an issuer: %v, want no problem", problems)
	}
}
