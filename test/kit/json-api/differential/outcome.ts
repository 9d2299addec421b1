export interface Input {
  id?: string
  relation?: string
  include?: string[]
  sort?: string[]
  page?: Record<string, number>
  filter?: Record<string, string>
  ids?: string[]
  [member: string]: unknown
}

/** The outcome of a call, in the same form for both surfaces. */
export type Outcome =
  | { refused: string }
  | { objects: unknown[]; around: unknown[]; total?: number | undefined; meta?: unknown }

export interface ShownResource {
  name: string
  attributes: Record<string, unknown>
  links: Record<string, string[]>
}
