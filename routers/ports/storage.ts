/** Keeps files under keys such as `avatars/9b2f….webp`. Driver: a local folder. */
export interface Storage {
  put(key: string, bytes: Uint8Array): Promise<void>
  get(key: string): Promise<Uint8Array>
  delete(key: string): Promise<void>
}
