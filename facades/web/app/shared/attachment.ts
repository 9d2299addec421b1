import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, queryClient } from './api/client.ts'
import { isNotFound } from './api/error-text.ts'

const buildAttachmentQuery = (id: string) =>
  queryOptions({
    queryKey: ['attachment', id],
    queryFn: ({ signal }) => api.attachments.get.query({ id }, { signal }),
  })

/** Returns true if the service has deleted a file, as it does with those that belong to no message for an hour. */
export const isGone = (id: string): Promise<boolean> =>
  queryClient.fetchQuery(buildAttachmentQuery(id)).then(() => false, isNotFound)

/** An uploaded file as the service sees it. */
export type Attachment = Awaited<ReturnType<typeof api.attachments.get.query>>

/** Reads an uploaded file, and polls while the service reads its text for models. */
export const useAttachment = (id: string | undefined): Attachment | undefined =>
  useQuery({
    ...buildAttachmentQuery(id ?? ''),
    enabled: id !== undefined,
    refetchInterval: ({ state }) => (state.data?.textState === 'pending' ? 1500 : false),
  }).data
