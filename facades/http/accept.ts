import Negotiator from 'negotiator'

/** Whether a program would rather have this type than JSON, by the weights that it gives to both. */
export function prefers(type: string, accept: string | undefined): boolean {
  if (!accept?.includes(type)) return false
  return new Negotiator({ headers: { accept } }).mediaType(['application/json', type]) === type
}
