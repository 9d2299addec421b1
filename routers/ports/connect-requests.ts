/** What a connect request says: which user of which app wants to be linked. */
export interface ConnectRequest {
  appId: string
  /** Of this service. */
  version: string
  extAppUserId: string
}

export interface OpenedRequest extends ConnectRequest {
  /** Names the request. */
  hash: string
  expiresAt: Date
  /** Whether it was made for an app with this public key. */
  isFor(publicKey: string): boolean
}

/** Writes connect requests that nobody else can read or make, and reads them. */
export interface ConnectRequests {
  write(request: ConnectRequest, made: { publicKey: string; expiresAt: Date }): string
  /** Undefined where the text is none of ours, was changed, or has expired. */
  read(text: string): OpenedRequest | undefined
}
