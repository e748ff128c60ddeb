// Package subscribe shows sessions as resources, and notifies the clients that subscribe to them of changes.
//
//	watch := subscribe.NewWatch()
//	manager := session.NewManager(session.Config{Observers: []term.Observer{watch}})
//	srv := mcpapi.NewServer(mcpapi.Options{Sessions: manager, Watch: watch})
//
// Guarantees:
//
//   - A caller is shown and notified of only the sessions that it may see, and does not learn the name of another. When
//     a session passes from one client to another, each client is notified that its list may have changed.
//   - A session never waits for the notifications to clients, and the memory for its changes is bounded.
//   - Changes that happen together make one notification.
package subscribe
