import type { Price } from './price-list.ts'

/** A model as its provider lists it. */
export interface ListedModel {
  /** The provider's own name for it. */
  name: string
  label: string | undefined
  /** Whether it answers questions, as far as the list says. */
  isChat: boolean
  status: 'online' | 'offline' | 'unknown'
  demand: 'low' | 'medium' | 'high'
  takesImages: boolean
  maxInputTokens: number | undefined
  maxOutputTokens: number | undefined
  price: Price | undefined
}
