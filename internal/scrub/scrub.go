// Package scrub removes text that looks like a secret from a command, for records that people read.
package scrub

import (
	"strings"

	"ptyctl/internal/lazyregexp"
)

const redacted = "[redacted]"

// value matches a word as a shell reads it: quoted parts, escaped characters and others,
// up to a blank. A quote that is never closed probably ends a quote that began before the
// word.
const value = `(?:"(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$)|\\.|[^\s"'\\])(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s"'\\])*`

// secretName matches a part of the names of secrets.
const secretName = `pass(?:word|wd|phrase|code)?|pwd|secret|token|api[_-]?key|access[_-]?key|` +
	`private[_-]?key|auth[_-]?key|credentials?`

// redactions replace text that looks like a secret, one after the other. They rather take
// too much. No pattern can know every form, so a command line should never hold a secret.
var redactions = []struct {
	signs   string // every match contains one of these words; the search for them is much cheaper
	pattern *lazyregexp.Regexp
	with    string
}{
	// A private key in PEM format, or the rest of one.
	{
		"-----begin",
		lazyregexp.New(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`),
		redacted,
	},
	// Authorization: Basic dXNlcjpwYXNz
	{
		"authorization x- cookie",
		lazyregexp.New(
			`(?i)\b((?:proxy-)?authorization|x-[a-z-]*(?:key|token)|(?:set-)?cookie)(["']?\s*[:=]\s*)[^"'\r\n]+`,
		),
		"${1}${2}" + redacted,
	},
	{"bearer basic", lazyregexp.New(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`), "${1} " + redacted},
	// https://user:pass@host, and a long user name without a password, which is often a
	// token.
	{"://", lazyregexp.New(`(?i)\b([a-z][a-z0-9+.-]*://[^\s/:@"']*):[^\s/"']*@`), "${1}:" + redacted + "@"},
	{"://", lazyregexp.New(`(?i)\b([a-z][a-z0-9+.-]*://)[^\s/:@"']{20,}@`), "${1}" + redacted + "@"},
	// password=..., "token": "...", --api-key ..., -password ...
	{
		"pass pwd secret token key credential",
		lazyregexp.New(
			`(?is)([a-z0-9_.-]*(?:` + secretName + `)[a-z0-9_.-]*)(\\?["']?\s*(?:=>|:=|[=:])\s*)` + value,
		),
		"${1}${2}" + redacted,
	},
	{
		"pass pwd secret token key credential",
		lazyregexp.New(`(?is)((?:^|\s)--?[a-z0-9-]*(?:` + secretName + `)[a-z0-9-]*)(\s+)` + value),
		"${1}${2}" + redacted,
	},
	// username admin secret 5 ..., snmp-server community ...: the syntax of network devices.
	{
		"pass secret community key-string pre-shared-key md5",
		lazyregexp.New(
			`(?is)\b(password|passwd|passphrase|secret|community|key-string|pre-shared-key|md5)(\s+(?:\d{1,2}\s+)?)` + value,
		),
		"${1}${2}" + redacted,
	},
	// mysql -pSECRET, sshpass -p SECRET, curl -u user:SECRET
	{
		"mysql mariadb",
		lazyregexp.New(`(?is)\b((?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\b[^|;&\r\n]*?\s-p)` + value),
		"${1}" + redacted,
	},
	{"sshpass", lazyregexp.New(`(?is)\b(sshpass\s+(?:-\w+\s+)*?-p\s*)` + value), "${1}" + redacted},
	{
		"-u --proxy-user",
		lazyregexp.New(`(?is)(\s(?:-u|--user|--proxy-user)[\s=]*["']?[^\s:"']+):` + value),
		"${1}:" + redacted,
	},
	// echo SECRET | sudo -S, printf ... | passwd
	{
		"echo printf",
		lazyregexp.New(
			`(?is)\b(echo|printf)\b[^|\r\n]*(\|\s*(?:sudo\b[^|]*\s(?:-S|--stdin)\b|passwd\b|chpasswd\b|smbpasswd\b|docker\s+login\b|cryptsetup\b))`,
		),
		"${1} " + redacted + " ${2}",
	},
	{"<<<", lazyregexp.New(`(?is)(<<<\s*)` + value), "${1}" + redacted},
	// Tokens with a known prefix.
	{
		"gh github_pat_ glpat- xox sk- akia asia eyj hvs.",
		lazyregexp.New(
			`\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|sk-[\w-]{16,}|AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|hvs\.[\w-]{16,})`,
		),
		redacted,
	},
}

// Text returns s with secrets replaced by "[redacted]".
func Text(s string) string {
	lower := strings.ToLower(s)
	for _, r := range redactions {
		if containsAny(lower, r.signs) {
			s = r.pattern.ReplaceAllString(s, r.with)
		}
	}
	return s
}

// containsAny reports whether s contains one of the words, which are separated by spaces.
func containsAny(s, words string) bool {
	for word := range strings.SplitSeq(words, " ") {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}
