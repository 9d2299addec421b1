/** A user of an app who wants to be linked. */
export interface ConnectRequest {
  appId: string
  /** Version of this service. */
  version: string
  extAppUserId: string
}

export interface OpenedRequest extends ConnectRequest {
  /** Identifies the request. */
  hash: string
  expiresAt: Date
  /** Returns true if it was made for an app with this public key. */
  isFor(publicKey: string): boolean
}

/** Writes and reads encrypted, tamper-proof connect requests. */
export interface ConnectRequests {
  write(request: ConnectRequest, options: { publicKey: string; expiresAt: Date }): string
  /** Returns undefined if the text was not written by this service, was changed, or has expired. */
  read(text: string): OpenedRequest | undefined
}
