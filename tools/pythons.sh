# Sourced by scripts that try each supported Python: those on PATH as python3.x, or those of pyenv.
interpreter() { # prints the path of a version, or nothing
  local found
  for found in "$(command -v "python$1" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python"$1"; do
    if "$found" -c 'import venv' 2>/dev/null; then # a shim of pyenv may have no version to run
      echo "$found"
      return
    fi
  done
}
