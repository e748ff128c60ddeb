package unwrap

import (
	"slices"
	"strings"

	"ptyctl/policy/grammar"
)

// An option describes the options by which a program runs another.
type option struct {
	short  string   // letters
	long   []string // with their dashes; callers may abbreviate them
	words  []string // words among the arguments
	bundle bool     // the first argument may be a cluster of letters without a dash
}

// running holds programs that run others only with some options.
var running = map[string]option{
	"ack":                 {long: []string{"--pager"}},
	"ag":                  {long: []string{"--pager"}},
	"apt":                 {short: "oc", long: []string{"--option", "--config-file"}},
	"apt-cache":           {short: "oc", long: []string{"--option", "--config-file"}},
	"apt-get":             {short: "oc", long: []string{"--option", "--config-file"}},
	"aptitude":            {short: "o"},
	"bat":                 {long: []string{"--pager"}},
	"bsdtar":              {long: []string{"--use-compress-program"}},
	"cpio":                {long: []string{"--rsh-command"}},
	"dpkg":                {long: []string{"--pre-invoke", "--post-invoke", "--status-logger"}},
	"dump":                {short: "F"},
	"gcc":                 {long: []string{"-wrapper", "-fplugin"}},
	"gpg":                 {long: []string{"--photo-viewer", "--agent-program", "--dirmngr-program", "--exec-path", "--keyserver-options"}},
	"gpg2":                {long: []string{"--photo-viewer", "--agent-program", "--dirmngr-program", "--exec-path", "--keyserver-options"}},
	"g++":                 {long: []string{"-wrapper", "-fplugin"}},
	"groff":               {short: "U"},
	"helm":                {long: []string{"--post-renderer"}},
	"install":             {long: []string{"--strip-program"}},
	"man":                 {short: "PH", long: []string{"--pager", "--html"}},
	"nano":                {short: "s", long: []string{"--speller"}},
	"nmap":                {long: []string{"--script"}},
	"openssl":             {words: []string{"-engine", "-engine_impl", "-provider-path", "engine"}},
	"pdflatex":            {long: []string{"-shell-escape", "--shell-escape", "-enable-write18"}},
	"pdftex":              {long: []string{"-shell-escape", "--shell-escape"}},
	"restore":             {short: "F"},
	"rg":                  {long: []string{"--pre", "--hostname-bin"}},
	"rpm":                 {short: "ED", long: []string{"--eval", "--define", "--pipe"}},
	"rpmbuild":            {short: "D", long: []string{"--eval", "--define"}},
	"rsync":               {short: "e", long: []string{"--rsh", "--rsync-path"}},
	"scp":                 {short: "SoD"},
	"sftp":                {short: "SoDb"},
	"sort":                {long: []string{"--compress-program"}},
	"split":               {long: []string{"--filter"}},
	"ssh-add":             {short: "s"},
	"ssh-copy-id":         {short: "o"},
	"ssh-keygen":          {short: "Dw"},
	"systemctl":           {words: []string{"edit", "set-environment", "import-environment", "link"}},
	"tar":                 {short: "IF", bundle: true, long: []string{"--to-command", "--checkpoint-action", "--use-compress-program", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command"}},
	"tcpdump":             {short: "z"},
	"tex":                 {long: []string{"-shell-escape", "--shell-escape"}},
	"wget":                {short: "e", long: []string{"--use-askpass", "--execute"}},
	"zip":                 {short: "T", long: []string{"--unzip-command"}},
	"update-alternatives": {words: []string{"--install"}},
}

// in reports whether the option occurs in args. Long options may be
// abbreviated.
func (o option) in(args []grammar.Word) bool {
	if o.bundle && len(args) > 0 && !strings.HasPrefix(args[0].Text, "-") && strings.ContainsAny(args[0].Text, o.short) &&
		grammar.IsCluster("-"+args[0].Text) {
		return true
	}
	return slices.ContainsFunc(args, func(a grammar.Word) bool {
		name, _, _ := strings.Cut(a.Text, "=")
		for _, l := range o.long {
			if strings.HasPrefix(a.Text, l) || len(name) > 4 && name[0] == '-' && strings.HasPrefix(l, name) {
				return true
			}
		}
		return slices.Contains(o.words, a.Text) ||
			len(a.Text) > 1 && a.Text[0] == '-' && a.Text[1] != '-' && o.short != "" && strings.ContainsAny(a.Text, o.short)
	})
}

// builtinRuns holds builtins of shells with the options by which they run a
// command, now or at a later use of its name.
var builtinRuns = map[string]string{
	"bind":      "xf",
	"bindkey":   "c",
	"compgen":   "CF",
	"complete":  "CF",
	"enable":    "f",
	"hash":      "p",
	"history":   "sprw",
	"mapfile":   "C",
	"readarray": "C",
	"print":     "sz",
	"read":      "z",
	"builtin":   "f",
}
