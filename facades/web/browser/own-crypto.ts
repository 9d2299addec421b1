/** Exports the cryptography of a person's own keys and texts, so that pages without rooms do not load that of rooms. */
export * from './crypto/derive.ts'
export * from './crypto/encoding.ts'
export * from './crypto/keychain.ts'
export * from './crypto/keys.ts'
export * from './crypto/passkey-rules.ts'
export * from './crypto/seal.ts'
export * from './crypto/wrapping.ts'
