import { parsed } from '../../../routers/ports/ai/tool-calls.ts'

/** A piece of a call of a tool, or the whole call, as servers write it. */
export interface WireCall {
  index?: unknown
  id?: unknown
  function?: unknown
  extra_content?: unknown
}

export interface AssembledCall {
  id: string | undefined
  name: string
  arguments: string
  extraContent: object | undefined
}

/** What a piece adds to a call. */
export interface CallPiece {
  /** Which of the calls. */
  at: number
  arguments: string
}

interface Piece {
  index: number | undefined
  id: string | undefined
  name: string
  arguments: string
}

interface OpenCall extends AssembledCall {
  index: number | undefined
}

/**
 * Puts calls of tools together from their pieces, by id, then by index: servers leave out either or both, give several calls
 * one of them, and change or repeat an id from piece to piece.
 */
export class ToolCallAssembler {
  readonly calls: OpenCall[] = []
  #last: OpenCall | undefined
  /** The calls that the list of pieces in hand has named. */
  readonly #named = new Set<OpenCall>()

  /** Adds the pieces that came together; those of a document are whole calls. */
  add(pieces: readonly WireCall[], isDocument: boolean): CallPiece[] {
    this.#named.clear()
    return pieces.map((wire) => {
      const piece = read(wire)
      const call = (isDocument ? undefined : this.#find(piece)) ?? this.#begin(piece)
      if (piece.name) this.#named.add(call)
      call.id ??= piece.id
      call.name ||= piece.name
      call.arguments += piece.arguments
      call.extraContent ??= isObject(wire.extra_content) ? wire.extra_content : undefined
      this.#last = call
      return { at: this.calls.indexOf(call), arguments: piece.arguments }
    })
  }

  #begin({ index, id }: Piece): OpenCall {
    const call: OpenCall = { index, id, name: '', arguments: '', extraContent: undefined }
    this.calls.push(call)
    return call
  }

  /** The call that a piece goes on with; undefined where it begins one. */
  #find(piece: Piece): OpenCall | undefined {
    const { index, id, name } = piece
    const withId = id && this.calls.findLast((call) => call.id === id && (!name || isAt(call, index)))
    if (withId) return name && this.#isAnother(piece, withId) ? undefined : withId
    const near = index === undefined ? this.#last : this.calls.findLast((call) => call.index === index)
    if (!name) return near ?? this.#strayFrom(piece)
    return near && this.#goesOn(piece, near) ? near : undefined
  }

  /** A few servers count pieces where they should count calls. */
  #strayFrom({ id, arguments: written }: Piece): OpenCall | undefined {
    const isStray = id === undefined && written.trim() !== ''
    return isStray && this.#last && !isWhole(this.#last.arguments) ? this.#last : undefined
  }

  /** A name that is repeated with each piece begins another call where the one before it is whole, or came with it. */
  #isAnother({ name, arguments: written }: Piece, call: OpenCall): boolean {
    if (this.#named.has(call) || (call.name && name !== call.name)) return true
    return written.trim() !== '' && isWhole(call.arguments)
  }

  /** Whether a piece with a name, and an id that no call has, belongs to the call at its index, or before it. */
  #goesOn({ index, id, name, arguments: written }: Piece, call: OpenCall): boolean {
    if (this.#named.has(call) || (call.name && name !== call.name) || isWhole(call.arguments)) return false
    // Both the id and the name of a call may come late.
    if (index !== undefined && (call.id === undefined || id === undefined)) return true
    return call.arguments !== '' && !written.trimStart().startsWith('{')
  }
}

const isAt = (call: OpenCall, index: number | undefined) =>
  index === undefined || call.index === undefined || call.index === index

/** Arguments are an object, which ends with its last character. */
const isWhole = (text: string) => text.trimEnd().endsWith('}') && parsed(text) !== undefined

function read({ index, id, function: called }: WireCall): Piece {
  const { name, arguments: written } = isObject(called) ? called : {}
  return {
    index: indexIn(index),
    id: (typeof id === 'string' && id.trim()) || undefined,
    name: typeof name === 'string' ? name.trim() : '',
    arguments: writeArguments(written),
  }
}

const indexIn = (value: unknown): number | undefined => {
  const index = typeof value === 'string' && value ? Number(value) : value
  return typeof index === 'number' && Number.isInteger(index) ? index : undefined
}

/** Some servers write an object, which is empty before its text comes. */
function writeArguments(written: unknown): string {
  if (typeof written === 'string') return written
  if (isObject(written)) return Object.keys(written).length > 0 ? JSON.stringify(written) : ''
  return ''
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
