// Package inventory reads the hosts and groups of files that other programs own: Ansible inventories in INI and
// YAML, and genders(5).
//
//	inv, err := inventory.Read("/etc/ansible/hosts")
//	for _, h := range inv.Hosts {
//		fmt.Println(h.Name, h.Address, h.User, h.Port)
//	}
//
// Promises:
//   - No program is started and no plugin is loaded. An executable file and the configuration of a dynamic plugin
//     are errors, and so is a value that Ansible Vault has encrypted, where a host needs it.
//   - What a file says beyond hosts, groups, addresses, users and ports is counted in Ignored, and has no effect.
//   - The size of a file, its hosts, its groups and the aliases of YAML are bounded.
package inventory
