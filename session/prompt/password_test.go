package prompt

import "testing"

// Questions for a password as Linux-PAM, sudo and shadow ask them in other languages, and lines that ask for none.
func TestForeignPasswords(t *testing.T) {
	for _, line := range []string{
		"Passwort: ", "Kennwort: ", "[sudo] Passwort für alice: ", "Geben Sie ein neues Passwort ein: ", "Mot de passe : ", "Mot de passe\u00a0: ",
		"[sudo] Mot de passe de alice : ", "Contraseña: ", "[sudo] contraseña para alice: ", "Contrasenya: ", "Senha: ", "[sudo] senha para alice: ",
		"Palavra-passe: ", "Heslo: ", "[sudo] heslo pro alice: ", "Hasło: ", "[sudo] hasło użytkownika alice: ", "Lösenord: ", "Adgangskode: ",
		"Wachtwoord: ", "Passord: ", "Salasana: ", "[sudo] alice-käyttäjän salasana: ", "Jelszó: ", "alice jelszava: ", "Lozinka: ", "Geslo: ",
		"Slaptažodis: ", "Parola: ", "Yeni parolayı tekrar girin: ", "Parolă nouă: ", "Kata Sandi: ", "Mật khẩu: ", "Пароль: ", "[sudo] пароль для alice: ",
		"Повторите ввод нового пароля: ", "Лозинка: ", "Κωδικός πρόσβασης: ", "Συνθηματικό: ", "პაროლი: ", "סיסמה: ", "ססמה: ", "كلمة السر: ", "گذرواژه: ",
		"パスワード: ", "パスワード:", "[sudo] alice のパスワード: ", "新しいパスワードを再入力してください: ", "密码：", "[sudo] alice 的密码：", "密碼：", "비밀번호: ", "암호: ",
		"[sudo] alice 암호: ", "ពាក្យសម្ងាត់ ៖ ", "Şifrə: ", "Pasahitza: ", "Parool: ", "पासवर्ड: ",
	} {
		if w := Waits(line, nil); w == nil || w.Kind != Password {
			t.Errorf("%q waits for %+v, want a password", line, w)
		}
	}
	for _, line := range []string{
		"Passwort geändert", "密码已更新", "пароль изменён ", "Kennwörter werden geprüft... ", "me@host:~/heslo$ ",
	} {
		if w := Waits(line, nil); w != nil {
			t.Errorf("%q waits for %+v, want nothing", line, w)
		}
	}
}
