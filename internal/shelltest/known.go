package shelltest

// Bypasses has lines that ran Canary under rules that allow harmless readers (echo,
// printf, test, [, cat, show), in at least one shell. Each class of mistakes has its own
// list, and every shell gets all of them.
var Bypasses = map[string][]string{
	"the judge and the shell read quotes differently": {
		`echo "${zz:-'$(canary)'}"`, "echo \"${zz:-'`canary`'}\"", `echo "${zz:-'$(canary)'$(show)}"`, "cat <<E\n${zz:-'$(canary)'}\nE", "cat <<-E\n\t${zz-'`canary`'}\n\tE",
		`echo "${zz:+a}${zz:-'$(canary)'}"`, `echo "${HOME:+'$(canary)'}"`, `echo "${zz='$(canary)'}"`, `echo "a\" ; canary ; \""`, `echo 'a\' ; canary ; '\'`, `echo "$\` + "\n" + `(canary)"`, "echo $\\\n(canary)", "echo $\\\n${PATH#\\\n;canary;}", "echo $\\\n${PATH%~\n canary\n}", "cat <<E\n$\\\n(canary)\nE",
		`echo "a` + "\ncanary\n" + `"`, "echo 'a\ncanary\n'", "echo a\\\\\ncanary", `echo $'\'; canary #'`, `echo $"${zz:-'$(canary)'}"`, "echo \"\\`canary\\`\"", "echo \"\\\\`canary\\\\`\"", "echo '`canary`'", "echo \\`canary\\`", `echo \\\$(canary)`,
	},
	"process substitutions in parameters": {
		"echo ${zz:-<(canary)}", "echo ${zz:->(canary)}", "echo ${zz:-=(canary)}", "echo ${zz->(canary)}", "echo ${zz:=<(canary)}", "echo ~${zz:->(canary)&& ]]>; }", "echo ${zz:-echo >(canary)}", "echo \\\n!${zz=>(canary)>$zz; }\n", "echo ${zz:->(canary))canary}for i in echo ", "echo ${HOME#<(canary)}", "echo ${HOME/x/<(canary)}", "echo ${HOME:+<(canary)}",
	},
	"subscripts in names": {
		"echo {a['$(canary)']}>/dev/null", "show {a['$(canary)']}>out", "show a['$(canary)']=1", "a['$(canary)']=1 show", "test -v 'a[$(canary)]'", "[ -v 'a[$(canary)]' ]", "test 'a[$(canary)]' -eq 1", "[ 'a[$(canary)]' -eq 1 ]", "test 1 -lt 'a[$(canary)]'", "[ 'a[`canary`]' -ne 1 ]", "printf -v 'a[$(canary)]' x", "printf %d 'a[$(canary)]'", "printf '%d\\n' 'path[1,$(canary)]'", "printf -- '%d\\n' 'path[1,$(canary)]'", "printf %i 'path[1,$(canary)]'", "printf %f 'path[1,$(canary)]'", "printf '%*d' 'path[1,$(canary)]' 1", "printf '%.*s' 'a[$(canary)]' x",
		"COLUMNS='path[1,$(canary)]'", "COLUMNS='path[1,$(canary)]' show", "LINES='path[1,$(canary)]' show", "LINES='a[$(canary)]'", "test -t 'a[$(canary)]'", "[ -t 'path[1,$(canary)]' ]", "test -o 'a[$(canary)]'", "test -R 'a[$(canary)]'", "[[ 'a[$(canary)]' -eq 1 ]]", "echo $((a['$(canary)']))", "echo $[a['$(canary)']]", "echo ${a['$(canary)']}", "echo ${HOME:a['$(canary)']}", "echo ${zz:-$((a['$(canary)']))}", "let 'a[$(canary)]'", "exit 'a[$(canary)]'", "shift 'a[$(canary)]'", "unset 'a[$(canary)]'", "read 'a[$(canary)]' <in", "typeset -i zz='a[$(canary)]'", "export 'a[$(canary)]=1'",
	},
	"zsh's patterns": {
		"echo ${zz:-*(e:'canary':)}", `echo ${zz:-/*(e:"canary":)}`, "echo ${zz:-*(+canary)}", "echo *(e:'canary':)", `echo a*(e["canary"])`, "echo *(#qe:'canary':)", "echo ${zz:-${(e):-'$(canary)'}}", "echo ${(e)zz:-'$(canary)'}", "echo =canary", "echo =(canary)", "cat <in(e:'canary':)", "show a1(e{'canary'})", "echo ${zz:-a1(e:canary:)}", `echo ${zz:-"*"(e:canary:)}`, "echo ${(%):-'%(!.$(canary).$(canary))'}", `echo ${zz:-$'\x24(canary)'}`, "echo ~'[$(canary)]'", "echo ~[canary]",
	},
	"csh's quotes and words": {
		"echo \"\\`canary\\`\"", "echo \"a\ncanary\n\"", "echo 'a\ncanary\n'", "echo '!canary'", `echo "\\` + "`canary`" + `\\"`, "echo a >&out ; canary", "echo a{`canary`}", "echo $zz:q`canary`", "echo `canary`", "echo \"`canary`\"", "echo \\\\`canary`", "show 'a\\\ncanary'", `show "a\"` + "`canary`", "echo ~`canary`",
	},
	"fish's words": {
		"echo (canary)", "echo a(canary)", `echo "(canary)"`, `echo "$(canary)"`, `echo 'a\' (canary) 'b'`, `echo 'a\' ; canary ; '\''`, `echo 'a\\'(canary)''`, "show {a,(canary)}", "echo \\x28canary\\x29", "echo 'x' ; and canary", "echo a ^canary", "echo a; or canary", "echo $zz[(canary)]", "echo \\;canary", "show a\\\n(canary)",
	},
	"tildes and brackets": {
		"show ~''", `show ~""`, "show ~''/a", "show ~'a'", "show ~\\a", "show ~[a]", "show ~[canary]", "show ~*", "show ~?", "show ~/", "show ~/*", "show ~/''", "show ''~", "show [a]1", "show [a-b]1", "show [ab]*", "show a[1]", "show [a", "show a]", "show []a]", "show [^a]1", "show [!a]1", "show a?", "show a*''", "show *''*", "show '*'*", "show a\\*", "show {a,b}1", "show 'a'{1,2}", "show a{1..3}", "show {}", "show {a}", "show ~,a", "show a=~", "show =a", "show a:~",
	},
	"reserved words": {
		"! canary", "time canary", "noglob canary", "nocorrect canary", "- canary", "and canary", "or canary", "not canary", "begin; canary; end", "coproc canary", "repeat 1 canary", "exec canary", "builtin command canary", "if true; then canary; fi", "foreach x (a) canary; end", "show; fi; canary", "[[ a ]] && canary", "echo a; function show { canary; }; show a", "show() { canary; }; show a", "alias show=canary; show", "time -- canary", "\"\"=canary", "=canary", "'!' canary", "'time' canary", "'noglob' canary",
	},
	"blanks and comments": {
		"echo a\u00a0;canary", "echo a\u2028canary", "\ufeffcanary", "echo a\rcanary", "echo a\x0bcanary", "echo a\x0c; canary", "echo a #\ncanary", "echo a#;canary", "echo 'a' # ' \ncanary # '", "show # '\ncanary\n# '", "echo a \\\n; canary", "echo a\\\n\ncanary", "echo a\u0085canary", "echo a\x1f;canary", "echo a\xff;canary",
	},
	"redirections": {
		"show > >(canary)", "show < <(canary)", "show <<<$(canary)", "show <<<\"${zz:-'$(canary)'}\"", "show &>out canary", "show >&out; canary", "show >&$(canary)", "show >out\\\n;canary", "show |& canary", "show >|out;canary", "show <>in;canary", "show &|canary", "show 2>&1canary;canary", "show >`canary`", "show >'out'`canary`",
	},
	"plain chains": {
		"canary", "show; canary", "show | canary", "show & canary", "show && canary", "fail || canary", "show\ncanary", "(canary)", "{ canary; }", "show $(canary)", "show `canary`", "show \"$(canary)\"", "show ${zz:-$(canary)}", "show $((`canary`))", "show {`canary`,a}", "zz=$(canary) show", "zz=`canary`", "zz=canary; $zz", "eval canary", "show | while read x; do canary; done", "for x in a; do canary; done", "case a in a) canary;; esac", "trap canary EXIT", "trap canary 0; show", "cat <<E\n$(canary)\nE", "cat <(canary)", "show >(canary)",
	},
}

// Typed has lines that ran Canary when they were typed at a prompt.
var Typed = []string{
	`echo '" ; canary ; "' "!#:1"`, `echo '" ; canary ; "' "!#$"`, "echo '`canary`' \"!#:1\"", `show '$(canary)' "!#:1"`, "show '$(canary)'\rshow \"!!:1\"", "show '$(canary)'\rshow \"!$\"", "show canary\r!!:1", "show canary\r!!:$", "show canary\r!$", "show ; canary\r!!", "show canary\r^show ^^", "show '; canary'\r!?can?:1", "show 'a' !#:0 '; canary'", "show '!' ; canary", `echo "!canary"`, `echo a \!canary`, "show a #\rcanary", "show 'a\rcanary", "show \"a\rcanary", "show a\\\rcanary", "cat <<E\r$(canary)\rE", "show '!canary'", "show '!!'", `show '\!canary'`, "show \"`canary`\"", "canary\x01show ", "show a\x0ecanary",
}
