/** Seals secrets with the application key. The purpose is bound in: what was sealed for one opens for no other. */
export interface Vault {
  seal(plain: string, purpose: string): string
  /** Throws where the key is not known or the text was changed. */
  open(sealed: string, purpose: string): string
}
