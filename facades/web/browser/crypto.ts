/** Exports all cryptography, which runs unchanged in browsers and in Node. */
export * from './derive.ts'
export * from './encoding.ts'
export * from './keychain.ts'
export * from './keys.ts'
export * from './passkey.ts'
export * from './rooms.ts'
export * from './seal.ts'
