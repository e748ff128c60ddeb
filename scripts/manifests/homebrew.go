package main

import "fmt"

// homebrew returns a formula that installs the built program: https://docs.brew.sh/Formula-Cookbook.
func (r release) homebrew() string {
	return fmt.Sprintf(`class Ptyctl < Formula
  desc %q
  homepage %q
  version %q
  license "MIT"

  on_macos do
%s  end

  on_linux do
%s  end

  def install
    bin.install "ptyctl"
    man1.install "ptyctl.1"
    bash_completion.install "completions/ptyctl.bash" => "ptyctl"
    fish_completion.install "completions/ptyctl.fish"
    zsh_completion.install "completions/_ptyctl"
    doc.install Dir["docs/*"], "ptyctl.toml.example", "THIRD-PARTY-LICENSES.txt", "NOTICE"
  end

  test do
    assert_equal "v#{version}", shell_output("#{bin}/ptyctl version --short").strip
  end
end
`, about, r.Homepage, r.Version, r.brewFiles("darwin"), r.brewFiles("linux"))
}

// brewFiles returns the blocks of a system's architectures.
func (r release) brewFiles(system string) string {
	text := ""
	for _, a := range []struct{ name, arch string }{{"on_arm", "arm64"}, {"on_intel", "amd64"}} {
		f := r.files[system+"-"+a.arch]
		text += fmt.Sprintf("    %s do\n      url %q\n      sha256 %q\n    end\n", a.name, f.URL, f.SHA256)
	}
	return text
}
