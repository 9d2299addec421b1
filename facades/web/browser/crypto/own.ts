/** Exports the cryptography of a person's own keys and texts, so that pages without rooms do not load that of rooms. */
export * from './derive.ts'
export * from './encoding.ts'
export * from './keychain.ts'
export * from './keys.ts'
export * from './passkey-rules.ts'
export * from './seal.ts'
export * from './wrapping.ts'
