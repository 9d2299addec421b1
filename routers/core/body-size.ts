/**
 * How much a procedure is sent at most, by what its input needs; a form unless it says otherwise. Facades know the bytes.
 */
export type BodySize =
  | 'form'
  | 'record'
  | 'long text'
  | 'conversation'
  | 'first keys'
  | 'room keys'
  | 'keychain'
  | 'picture'
  | 'AI request'
  | 'AI request with files'

/** Says of a procedure what its input needs. */
export const takes = (body: BodySize): { body: BodySize } => ({ body })
