/** Exports all cryptography, which runs unchanged in browsers and in Node. */
export * from './crypto/member-keys.ts'
export * from './crypto/own.ts'
export * from './crypto/room-files.ts'
export * from './crypto/room-keys.ts'
export * from './crypto/room-texts.ts'
export * from './crypto/rooms.ts'
