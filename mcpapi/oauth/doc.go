// Package oauth makes an OAuth 2.1 resource server: it verifies the access tokens that an authorization server, the
// issuer, has signed (RFC 9068, and JWTs like it), and returns their rights. It asks the issuer only for its keys, and
// passes no token on.
//
//	v, err := oauth.New(oauth.Options{
//		Issuer: "https://login.example.net/realms/it", Audience: "https://mcp.example.net/mcp",
//		Roles: map[string]oauth.Role{"ptyctl:read": oauth.Read, "ptyctl:write": oauth.Write},
//	})
//	defer v.Close()
//	grant, err := v.Verify(ctx, token)
//
// A token passes these checks: its length, the form of a signed JWT, its type, the issuer, the audience, its times, its
// subject, the key, the signature, its scopes.
//
// Guarantees:
//
//   - RS256 with 2048 bits or more, ES256 and EdDSA with Ed25519 are accepted, and no other algorithm. The members of a
//     key in the key set (kty, crv, use, key_ops, alg) must agree with the algorithm; a key in the token itself is not
//     used.
//   - The issuer is reached by https, or by http at a loopback address; a redirect leads to the same host or nowhere.
//   - Unknown key ids cause at most one fetch of the keys a minute, for all callers together. One fetch runs at a time.
//   - If the issuer fails, keys that were fetched stay in use for a day longer than they may be cached, and no longer.
//   - No error and no log line has a part of a token.
package oauth
