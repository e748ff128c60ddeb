// Package tmux shows sessions in the windows of a tmux server that can do nothing else.
//
//	t, err := tmux.Find(ctx)
//	if err != nil {
//		return err
//	}
//	w, err := t.Show(ctx, "s1", tmux.Watch, 80, 24, []string{"/usr/bin/ptyctl", "attach", "--pane", "s1"})
//	// w.Attach is the command with which a person looks
//
// Promises:
//   - The server reads no configuration, starts no program besides the windows' commands, and no key gives a command of
//     tmux.
//   - Only this user may open its socket.
//   - A window is closed when its session has ended and it has no viewer.
package tmux
