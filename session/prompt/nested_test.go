package prompt

import "testing"

// Prompts of shells that may be started inside a terminal, and of programs and devices that must not pass for them.
func TestNestedShellPrompts(t *testing.T) {
	for _, line := range []string{
		"user@host:~$ ", "root@1f2e3d4c5b6a:/# ", "(venv) me@web1:/srv/app$ ", "[root@web1 ~]# ", "bash-5.2$ ", "sh-4.4# ", "-bash-5.1$ ",
		"$ ", "# ", "% ", "~ # ", "/ # ", "/var/log $ ", "me@host ~ % ", "vm% ",
	} {
		if !nestedShell.MatchString(line) {
			t.Errorf("%q is a shell's", line)
		}
	}
	for _, line := range []string{
		"r1>", "r1# ", "r1(config)#", "RP/0/RSP0/CPU0:ios#", "*A:router1>config# ", "FGT60 # ", "FortiGate-VM64 (interface) # ",
		"[admin@MikroTik] > ", "[admin@MikroTik] /ip/address> ", "admin@PA-VM> ", "admin@PA-VM# ", "user@junos> ", "user@junos# ",
		"    -> ", "MySQL [test]> ", "postgres'# ", "postgres(> ", "postgres=# ", "rs0 [direct: primary] test> ", "cqlsh:ks> ", "lftp ftp.example.org:~> ",
		`smb: \> `, "=> ", "> ", ">>> ", "100%", "Downloading 42% ", "grub> ", "SQL> ", "(gdb) ", "(Pdb) ",
	} {
		if nestedShell.MatchString(line) {
			t.Errorf("%q is not a shell's", line)
		}
	}
}
