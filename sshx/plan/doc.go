// Package plan decides how a host is reached and logged in to, before a packet is sent: it applies ssh_config(5), the
// call and the operator's limits to a term.Target.
//
//	route, err := plan.Login(ctx, target, settings)
//	err = route.Judge(ctx, approve) // a policy may refuse the plan, or narrow it
//	for _, hop := range route.Hops { ... }
//
// A Route is a list of Hops, the target last. A Hop has everything about one host: its endpoint,
// algorithms, host key policy, credentials and keepalives. Tunnel plans a connection to a server
// without SSH.
//
// The package guarantees:
//
//   - A caller cannot loosen the operator's settings: the limits (floor.go) apply to the
//     evaluated configuration, whatever it came from.
//   - The operator's record decides about host keys; files and a fingerprint of the caller are an
//     additional condition (trust.go).
//   - Only the target has credentials of the call.
//   - A plan sends nothing to any host. Judge looks the first name up, after the policy has
//     allowed the names.
package plan
