// Package sudo runs a command as root with a password that its caller does not know.
//
//	words, _ := sudo.Words("systemctl restart nginx") // the words that sudo(8) runs; rules judge "sudo" and these words
//	c := sudo.New(false)
//	line, err := c.Line(class, judged) // sudo -k -S -p NONCE -- systemctl restart nginx
//	in, errs := c.Feed(ctx, stdin, fetch), c.Watch(stderr)
//	... // run line with in as its standard input and errs as its standard error
//	err = c.Err()
//
// sudo alone knows the nonce, which is in its own arguments, and asks with it. The password goes out once, when the
// nonce has come, and never after the command has begun. A user who controls the account's PATH can put another
// program in place of sudo, and a user who runs programs as the account can read the arguments of sudo: the password
// is no secret to them.
package sudo
