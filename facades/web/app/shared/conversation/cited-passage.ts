import { t } from '../text/labels.ts'
import type { CitedPassage } from './answer.ts'

/** The page and the headings of a passage, as far as its file has them. */
export const describePlace = ({ page, headings }: Pick<CitedPassage, 'page' | 'headings'>): string =>
  [...(page === null ? [] : [t('app.source.page', { page })]), ...headings].join(' › ')
