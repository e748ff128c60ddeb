package prompt

import "testing"

// Questions of real programs and devices, and the kind of each. None of them may be found only after the time in which
// any quiet line is reported.
func TestQuestions(t *testing.T) {
	for _, tt := range []struct{ from, line, kind string }{
		{"apt", "Do you want to continue? [Y/n] ", YesNo},
		{"dpkg", "*** sshd_config (Y/I/N/O/D/Z) [default=N] ? ", YesNo},
		{"debconf", "Geographic area: ", Unknown},
		{"debconf", "Time zone: ", Unknown},
		{"debconf", "Restart services during package upgrades without asking? [yes/no] ", YesNo},
		{"needrestart", "Restart services? ", YesNo},
		{"add-apt-repository", "Press [ENTER] to continue or Ctrl-c to cancel.", Pager},
		{"update-alternatives", "Press <enter> to keep the current choice[*], or type selection number: ", Unknown},
		{"npm init", "package name: (work) ", Unknown},
		{"npm init", "package name: (001) ", Unknown},
		{"login", "Line speed [9600]: ", Unknown},
		{"npm init", "version: (1.0.0) ", Unknown},
		{"npm init", "git repository: ", Unknown},
		{"npm init", "Is this OK? (yes) ", YesNo},
		{"npx", "Ok to proceed? (y) ", YesNo},
		{"git", "Username for 'https://example.org': ", Login},
		{"git", "Password for 'https://me@example.org': ", Password},
		{"git add -p", "(1/2) Stage this hunk [y,n,q,a,d,j,J,g,/,e,p,?]? ", YesNo},
		{"git add -i", "What now> ", Unknown},
		{"git clean -i", "Would remove x [y/N]? ", YesNo},
		{"ssh", "Are you sure you want to continue connecting (yes/no/[fingerprint])? ", HostKey},
		{"ssh", "Please type 'yes', 'no' or the fingerprint: ", YesNo},
		{"ssh-keygen", "Enter file in which to save the key (/root/.ssh/id_ed25519): ", Unknown},
		{"ssh-keygen", "Overwrite (y/n)? ", YesNo},
		{"ssh-keygen", "Enter passphrase (empty for no passphrase): ", Password},
		{"gpg", "Your selection? ", Unknown},
		{"gpg", "What keysize do you want? (3072) ", Unknown},
		{"gpg", "Key is valid for? (0) ", Unknown},
		{"gpg", "Is this correct? (y/N) ", YesNo},
		{"gpg", "Real name: ", Unknown},
		{"gpg", "Email address: ", Unknown},
		{"gpg", "Change (N)ame, (C)omment, (E)mail or (O)kay/(Q)uit? ", Unknown},
		{"cryptsetup", "Are you sure? (Type 'yes' in capital letters): ", YesNo},
		{"cryptsetup", "Enter passphrase for /dev/sdb1: ", Password},
		{"passwd", "Current password: ", Password},
		{"mysql_secure_installation", "Enter current password for root (enter for none): ", Password},
		{"mysql_secure_installation", "Switch to unix_socket authentication [Y/n] ", YesNo},
		{"mysql_secure_installation", "Press y|Y for Yes, any other key for No: ", YesNo},
		{"mysql_secure_installation", "Please enter 0 = LOW, 1 = MEDIUM and 2 = STRONG: ", Unknown},
		{"fdisk", "Command (m for help): ", Unknown},
		{"fdisk", "Partition number (1-4, default 1): ", Unknown},
		{"fdisk", "Last sector, +/-sectors or +/-size{K,M,G,T,P} (2048-204799, default 204799): ", Unknown},
		{"fdisk", "Do you want to remove the signature? [Y]es/[N]o: ", YesNo},
		{"parted", "Start? ", Unknown},
		{"parted", "File system type?  [ext2]? ", Unknown},
		{"parted", "Partition type?  primary/extended? ", Unknown},
		{"parted", "Yes/No? ", YesNo},
		{"parted", "Ignore/Cancel? ", Unknown},
		{"mkfs.ext4", "Proceed anyway? (y,N) ", YesNo},
		{"e2fsck", "Clear<y>? ", YesNo},
		{"rm -i", "rm: remove regular empty file 'a'? ", YesNo},
		{"cp -i", "cp: overwrite 'b'? ", YesNo},
		{"mv -i", "mv: replace 'b', overriding mode 0444 (r--r--r--)? ", YesNo},
		{"unzip", "replace a.txt? [y]es, [n]o, [A]ll, [N]one, [r]ename: ", YesNo},
		{"find -ok", "< rm ... ./a > ? ", Unknown},
		{"xargs -p", "rm a ?...", Unknown},
		{"openssl req", "Country Name (2 letter code) [AU]:", Unknown},
		{"openssl req", "Email Address []:", Unknown},
		{"adduser", "\tFull Name []: ", Unknown},
		{"chsh", "\tLogin Shell [/bin/bash]: ", Unknown},
		{"crontab", "  Choose 1-4 [1]: ", Unknown},
		{"certbot", "(A)gree/(C)ancel: ", YesNo},
		{"certbot", "Select the appropriate number [1-2] then [enter] (press 'c' to cancel): ", Unknown},
		{"patch", "File to patch: ", Unknown},
		{"terraform", "  Enter a value: ", Unknown},
		{"aws configure", "AWS Access Key ID [None]: ", Unknown},
		{"gcloud", "Please enter your numeric choice:  ", Unknown},
		{"dnf", "Is this ok [y/N]: ", YesNo},
		{"dnf", "Is this ok [y/d/N]: ", YesNo},
		{"pacman", "Enter a number (default=1): ", Unknown},
		{"zypper", "Continue? [y/n/v/...? shows all options] (y): ", YesNo},
		{"conda", "Proceed ([y]/n)? ", YesNo},
		{"kernel config", "Local version - append to kernel release (LOCALVERSION) [] ", ""}, // no mark: asked after a while
		{"read -p", "Your name: ", Unknown},
		{"read -p", "Name: ", Unknown},
		{"read -p", "Select an option [1-4]: ", Unknown},
		{"read -p", "Which one? ", Unknown},
		{"read -p", "Your choice > ", Unknown},
		{"python input", "How many? ", Unknown},
		{"click", "Do you want to continue? [y/N]: ", YesNo},
		{"click", "Repository URL [origin]: ", Unknown},
		{"select", "#? ", Unknown},
		{"zsh select", "?# ", Unknown},
		{"zsh", "zsh: correct 'sl' to 'ls' [nyae]? ", YesNo},
		{"zsh", "zsh: sure you want to delete all 3 files in /tmp/x [yn]? ", YesNo},
		{"bash", "Display all 300 possibilities? (y or n)", YesNo},
		{"inquirer", "? Project name: (app) ", Unknown},
		{"prompts", "? What is your name? › ", Unknown},

		{"Cisco IOS", "Proceed with reload? [confirm]", YesNo},
		{"Cisco IOS", "Delete flash:/x.bin? [confirm]", YesNo},
		{"Cisco IOS", "Destination filename [startup-config]? ", Unknown},
		{"Cisco IOS", "Address or name of remote host []? ", Unknown},
		{"Cisco IOS", "Source filename []? ", Unknown},
		{"Cisco IOS", "How many bits in the modulus [512]: ", Unknown},
		{"Cisco IOS", "% Do you really want to remove these keys? [yes/no]: ", YesNo},
		{"Cisco IOS", "Extended commands [n]: ", YesNo},
		{"Cisco IOS", "Repeat count [5]: ", Unknown},
		{"Cisco IOS", "Target IP address: ", Unknown},
		{"Cisco ASA", "Pre-configure Firewall now through interactive prompts [yes]? ", YesNo},
		{"Cisco NX-OS", "This command will reboot the system. (y/n)?  [n] ", YesNo},
		{"Cisco NX-OS", "Do you want to overwrite (yes/no)?[no] ", YesNo},
		{"Cisco IOS-XR", "Uncommitted changes found, commit them before exiting(yes/no/cancel)? [cancel]:", YesNo},
		{"Cisco IOS-XR", "Destination file name (control-c to abort): [running-config]?", Unknown},
		{"Cisco IOS-XR", "Do you wish to proceed? [no]:", YesNo},
		{"Junos", "Discard uncommitted changes? [yes,no] (yes) ", YesNo},
		{"Junos", "Reboot the system ? [yes,no] (no) ", YesNo},
		{"Huawei", "Are you sure to continue? (y/n)[n]:", YesNo},
		{"Huawei", "Warning: All the configuration will be saved. Continue? [Y/N]:", YesNo},
		{"Huawei", "Please input the file name(*.cfg,*.zip)[vrpcfg.zip]:", Unknown},
		{"Comware", "(To leave the existing filename unchanged, press the enter key):", Pager},
		{"MikroTik", "Reboot, yes? [y/N]: ", YesNo},
		{"MikroTik", "Dangerous! Reset anyway? [y/N]: ", YesNo},
		{"FortiOS", "Do you want to continue? (y/n)", YesNo},
		{"Arista", "System configuration has been modified. Save? [yes/no/cancel/diff]:", YesNo},
		{"PAN-OS", "Do you want to continue? (y or n)", YesNo},
		{"Brocade", "Are you sure (yes, y, no, n): [no] ", YesNo},
		{"Dell", "Proceed to reboot the system? [confirm yes/no]:", YesNo},
		{"MikroTik", "Hijacking Safe Mode from someone - unroll/release/don't take it [u/r/d]: ", Unknown},
		{"Cisco IOS-XR", "Do you wish to continue?[confirm(y/n)]", YesNo},
	} {
		got := Waits(tt.line, nil)
		if got == nil {
			got = Asks(tt.line)
		}
		switch {
		case got == nil && tt.kind != "", got != nil && got.Kind != tt.kind:
			t.Errorf("%s: %q waits for %+v, want %q", tt.from, tt.line, got, tt.kind)
		case got != nil && got.Text != tt.line:
			t.Errorf("%s: %q is told as %q", tt.from, tt.line, got.Text)
		}
	}
}

// Lines of programs that work, and of those that are ready for a command: none of them asks.
func TestNoQuestions(t *testing.T) {
	for _, line := range []string{
		"compiling: ", "Compiling: ", "Progress: [ 42%]", "Progress: [#####     ] ", "Progress: [ 42%]: ", "Reading package lists... ",
		"Reading package lists... 42%", "Building dependency tree... ", "tests/test_a.py ......", "tests/test_a.py ..F.s", "........",
		"Get:1 http://deb.debian.org/debian bookworm/main ", "Get:1 http://deb.debian.org/debian bookworm/main amd64 x [12 kB] ",
		"0% [Working]", "0% [Connecting to deb.debian.org (151.101.2.132)] ", "checking for gcc... ", "checking whether it works? ",
		"  CC      init/main.o", "[ 42%] Building C object x.o", "[3/10] Linking x", "[3/10]: ", "Step 3/10 : ", "(1/10): ",
		"Downloading foo (1.2 MB): ", "Downloading: ", "Installing: ", "Unpacking x (1.0) ", "Linking: ", "Resolving host: ",
		"104857600 bytes (105 MB, 100 MiB) copied, 1 s, 105 MB/s", "100%", "42% ", "ETA: ", "Elapsed: [00:10] ", "Total: ",
		"Starting sshd: [  OK  ]", "Checking disk: [OK] ", "make[1]: ", "sshd[812]: ", "[INFO]: ", "[main]: ", "INFO [main]: ",
		"ERROR: ", "warning: ", "Waiting for the lock: ", "Test 7: ", "Phase 2: ", "Copying files (setup.py): ", "⠋ ", "⠙ installing ",
		"|", "/", "-", "=====>    ", "Linking [a/bc]: ", "Testing [1/2]: ", "......", "done: ", "Uploading [3 of 10]: ", "12:00:05 [worker]: ", "x264 [info]: ",
		"me@host:~$ ", "r1#", "r1(config)#", "[admin@MikroTik] > ", "<HUAWEI>", "[~HUAWEI]", "web1> ", "user@junos> ", "", "   ",
		"RP/0/RSP0/CPU0:ios#", "➜  ~ ", "➜  src git:(main) ", "➜  src git:(main) ✗ ", "λ ", "~ # ", "[root@db1 ~]# ", "(venv) me@web1:/srv/app$ ", "host> ",
	} {
		if got := Asks(line); got != nil {
			t.Errorf("%q asks %+v, want no question", line, got)
		}
		if got := Waits(line, nil); got != nil {
			t.Errorf("%q waits for %+v, want nothing", line, got)
		}
	}
}
