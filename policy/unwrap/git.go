package unwrap

import (
	"slices"
	"strings"

	"ptyctl/internal/lazyregexp"
	"ptyctl/policy/grammar"
)

// gitCommands holds the commands of git, including common additions. Any other
// word is an alias, or a program with a name that begins with git-.
var gitCommands = grammar.SetOf(`
	add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore
	check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean clone column commit
	commit-graph commit-tree config count-objects credential credential-cache credential-store daemon describe
	diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import fetch fetch-pack filter-branch
	fmt-merge-msg for-each-ref for-each-repo format-patch fsck fsck-objects gc get-tar-commit-id grep gui
	hash-object help hook http-backend http-fetch http-push imap-send index-pack init init-db instaweb
	interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file
	merge-index merge-octopus merge-one-file merge-ours merge-recursive merge-resolve merge-subtree merge-tree
	mergetool mktag mktree multi-pack-index mv name-rev notes p4 pack-objects pack-redundant pack-refs patch-id
	pickaxe prune prune-packed pull push quiltimport range-diff read-tree rebase receive-pack reflog remote repack
	replace replay request-pull rerere reset restore rev-list rev-parse revert rm send-email send-pack shortlog
	show show-branch show-index show-ref sparse-checkout stage stash status stripspace submodule subtree svn
	switch symbolic-ref tag unpack-file unpack-objects update-index update-ref update-server-info upload-archive
	upload-pack var verify-commit verify-pack verify-tag version whatchanged worktree write-tree absorb annex
	citool cliff crypt delta filter-repo flow gitk lfs machete review town backfill refs last-modified repo`)

// gitRuns holds the options and words that make a command of git run another
// program.
var gitRuns = map[string]option{
	"":              {long: []string{"--exec-path=", "--config-env"}},
	"annex":         {words: []string{"testremote"}},
	"archive":       {long: []string{"--exec"}},
	"bisect":        {words: []string{"run"}},
	"clone":         {short: "uc", long: []string{"--upload-pack", "--config", "--template"}},
	"difftool":      {short: "x", long: []string{"--extcmd"}},
	"fetch":         {long: []string{"--upload-pack"}},
	"fetch-pack":    {long: []string{"--exec", "--upload-pack"}},
	"filter-branch": {long: []string{"--"}},
	"for-each-repo": {long: []string{"--config"}},
	"grep":          {short: "O", long: []string{"--open-files-in-pager"}},
	"instaweb":      {short: "db", long: []string{"--httpd", "--browser"}},
	"ls-remote":     {long: []string{"--upload-pack", "--exec"}},
	"pull":          {long: []string{"--upload-pack"}},
	"push":          {long: []string{"--receive-pack", "--exec"}},
	"rebase":        {short: "x", long: []string{"--exec"}},
	"send-email":    {long: []string{"--sendmail-cmd", "--smtp-server", "--to-cmd", "--cc-cmd", "--header-cmd"}},
	"send-pack":     {long: []string{"--receive-pack", "--exec"}},
	"submodule":     {words: []string{"foreach"}},
}

// gitSettings matches settings of git that name programs or files of settings.
var gitSettings = lazyregexp.New(
	`(?i)^(?:alias|pager|filter|include|includeif|difftool|mergetool|man|browser|guitool|trailer)\.|^core\.(?:pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy|alternaterefscommand|attributesfile)$|^diff\.(?:external|.*\.(?:command|textconv))$|^merge\..*\.driver$|^credential\b.*helper$|^gpg\b.*program$|^sequence\.editor$|^interactive\.difffilter$|^sendemail\..*cmd$|^uploadpack\.packobjectshook$|^init\.templatedir$|^url\..*insteadof$|^protocol\.|^remote\..*\.(?:uploadpack|receivepack|vcs|url)$|^submodule\..*\.update$|^hook\.|^tar\..*\.command$`,
)

// gitRunsOther returns why a git command line runs another program, or "" if it
// does not.
func gitRunsOther(args []grammar.Word) string {
	const option = "with such an option it runs another program"
	if gitConfigures(args) || gitRuns[""].in(args) {
		return option
	}
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		skip := 1
		if slices.Contains([]string{"-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix"}, args[0].Text) {
			skip = 2
		}
		args = args[min(skip, len(args)):]
	}
	if len(args) == 0 || !args[0].Literal() {
		return ""
	}
	name, args := args[0].Text, args[1:]
	switch {
	case !gitCommands[name]:
		return "it is no command of git that is known here, and an alias can run any program"
	case name == "config" && gitSets(args):
		return "such a setting of git runs a program"
	case gitRuns[name].in(args), name == "filter-branch":
		return option
	}
	return ""
}

// gitConfigures reports whether git gets a setting before its command. Aliases
// and pagers are commands, so a setting can run any program.
func gitConfigures(args []grammar.Word) bool {
	for i, a := range args {
		switch {
		case strings.HasPrefix(a.Text, "-c"), strings.HasPrefix(a.Text, "--config"):
			return true
		case !strings.HasPrefix(a.Text, "-") && (i == 0 || args[i-1].Text != "-C"):
			return false
		}
	}
	return false
}

// gitSets reports whether git config sets one of these settings.
func gitSets(args []grammar.Word) bool {
	for i, a := range args {
		if a.Text == "-e" || a.Text == "--edit" || a.Text == "edit" {
			return true
		}
		if gitSettings.MatchString(a.Text) || strings.ContainsRune(a.Text, grammar.Hole) {
			reads := slices.ContainsFunc(args[:i], func(o grammar.Word) bool {
				return strings.HasPrefix(o.Text, "--get") || o.Text == "get" || strings.HasPrefix(o.Text, "--unset") ||
					o.Text == "unset"
			})
			return !reads && i+1 < len(args)
		}
	}
	return false
}
